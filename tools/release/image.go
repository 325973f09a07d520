package main

import (
	"encoding/json"
	"os"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// user is the UID that runs the program in the image; distroless images call it nonroot.
const user = 65532

// layout is an OCI image layout: blobs by their digests, and an index of them.
type layout struct{ files []file }

// blob adds a blob and describes it.
func (l *layout) blob(mediaType string, content []byte) v1.Descriptor {
	d := digest.FromBytes(content)
	l.files = append(l.files, file{"blobs/sha256/" + d.Encoded(), content, 0o644})
	return v1.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(content))}
}

// document adds a blob of JSON.
func (l *layout) document(mediaType string, value any) (v1.Descriptor, error) {
	content, err := json.Marshal(value)
	return l.blob(mediaType, content), err
}

// writeImage writes an image for all platforms that contains only the program, like deploy/Containerfile but without a
// daemon.
func (r *release) writeImage(programs []program) error {
	l := &layout{}
	index := v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex}
	for _, p := range programs {
		manifest, err := r.manifest(l, p)
		if err != nil {
			return err
		}
		manifest.Platform = &v1.Platform{OS: p.os, Architecture: p.arch}
		index.Manifests = append(index.Manifests, manifest)
	}
	images, err := l.document(v1.MediaTypeImageIndex, index)
	if err != nil {
		return err
	}
	// Podman and skopeo use it as the image's name, so that a loaded image has the name that the pages use.
	images.Annotations = map[string]string{v1.AnnotationRefName: "cairn:" + r.version}
	top, err := json.Marshal(v1.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{images},
	})
	if err != nil {
		return err
	}
	marker, err := json.Marshal(v1.ImageLayout{Version: v1.ImageLayoutVersion})
	if err != nil {
		return err
	}
	l.files = append(l.files, file{v1.ImageIndexFile, top, 0o644}, file{v1.ImageLayoutFile, marker, 0o644})
	archive, err := tarred(l.files, r.time)
	if err != nil {
		return err
	}
	return r.writeFile("cairn-"+r.version+"-image.tar", archive, 0o644)
}

// manifest adds the image for one platform.
func (r *release) manifest(l *layout, p program) (v1.Descriptor, error) {
	binary, err := os.ReadFile(p.path)
	if err != nil {
		return v1.Descriptor{}, err
	}
	content, err := tarredAs([]file{{"cairn", binary, 0o755}, {"data/", nil, 0o755}}, r.time, user)
	if err != nil {
		return v1.Descriptor{}, err
	}
	compressed, err := gzipped(content)
	if err != nil {
		return v1.Descriptor{}, err
	}
	layer := l.blob(v1.MediaTypeImageLayerGzip, compressed)
	config, err := l.document(v1.MediaTypeImageConfig, v1.Image{
		Created:  &r.time,
		Platform: v1.Platform{OS: p.os, Architecture: p.arch},
		Config: v1.ImageConfig{
			User:         "65532:65532",
			ExposedPorts: map[string]struct{}{"8777/tcp": {}, "8778/tcp": {}},
			Env:          []string{"CAIRN_DATA_DIR=/data/chain", "CAIRN_RPC_ADDR=0.0.0.0:8777", "CAIRN_ADMIN_ADDR=0.0.0.0:8778"},
			Entrypoint:   []string{"/cairn"},
			Cmd:          []string{"node"},
			Volumes:      map[string]struct{}{"/data": {}},
			Labels: map[string]string{
				v1.AnnotationVersion: r.version, v1.AnnotationRevision: r.commit, v1.AnnotationLicenses: "Apache-2.0",
			},
		},
		RootFS:  v1.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(content)}},
		History: []v1.History{{Created: &r.time, CreatedBy: "tools/release"}},
	})
	if err != nil {
		return v1.Descriptor{}, err
	}
	return l.document(v1.MediaTypeImageManifest, v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: v1.MediaTypeImageManifest,
		Config:    config,
		Layers:    []v1.Descriptor{layer},
	})
}
