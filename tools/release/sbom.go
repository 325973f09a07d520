package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes the software bill of materials of a program: its modules, as the compiler recorded them.
func (r *release) writeSBOM(p program) error {
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef:  "cairn",
			Type:    cyclonedx.ComponentTypeApplication,
			Name:    "cairn",
			Version: r.version,
			Licenses: &cyclonedx.Licenses{
				{License: &cyclonedx.License{ID: "Apache-2.0"}},
			},
			Properties: &[]cyclonedx.Property{
				{Name: "commit", Value: r.commit}, {Name: "os", Value: p.os}, {Name: "arch", Value: p.arch},
			},
		},
	}
	components := []cyclonedx.Component{{
		BOMRef: "go", Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: p.info.GoVersion,
		PackageURL: "pkg:golang/std@" + p.info.GoVersion[len("go"):],
	}}
	for _, module := range p.info.Deps {
		url := "pkg:golang/" + module.Path + "@" + module.Version
		components = append(components, cyclonedx.Component{
			BOMRef:     url,
			Type:       cyclonedx.ComponentTypeLibrary,
			Name:       module.Path,
			Version:    module.Version,
			PackageURL: url,
			Properties: &[]cyclonedx.Property{{Name: "go.sum", Value: module.Sum}},
		})
	}
	bom.Components = &components
	content, err := encodeBOM(bom)
	if err != nil {
		return err
	}
	// The serial number is a name-based UUID of the content without it, so the same content has the same number.
	h := sha256.Sum256(content)
	h[6], h[8] = h[6]&0x0F|0x80, h[8]&0x3F|0x80
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
	if content, err = encodeBOM(bom); err != nil {
		return err
	}
	return r.writeFile(r.name(p)+".cdx.json", content, 0o644)
}

func encodeBOM(bom *cyclonedx.BOM) ([]byte, error) {
	var encoded bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&encoded, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return encoded.Bytes(), err
}
