// Package explorer serves the block explorer: pages that a browser runs against the node that serves them. The sources
// are in web/explorer, whose build writes dist.
package explorer

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// Path is the path of the pages on the node's address.
const Path = "/explorer/"

// embedded holds dist, which web/explorer/build.sh writes, and verifier. The folder verifier contains the verifier of
// proofs only after `make build`: it is larger than all the rest.
//
//go:embed dist verifier
var embedded embed.FS

// The policy allows the pages to run only their own files, to call only their own node, and to create no markup from
// text (Content Security Policy 3, Trusted Types). A worker obeys the policy of its own file, so all files have the
// policy.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; " +
	"worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types cairn-worker"

var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
}

// file is a file to serve.
type file struct {
	content    []byte
	compressed func() ([]byte, error) // with gzip, on first use
	mediaType  string
	tag        string // ETag (RFC 9110)
}

// Handler serves the files below [Path]. Any other path without a dot is a page, which the explorer's program renders.
type Handler struct {
	files map[string]*file
}

// New returns a handler for the embedded files.
func New() (*Handler, error) {
	dist, err := fs.Sub(embedded, "dist")
	if err != nil {
		return nil, err
	}
	verifier, err := fs.Sub(embedded, "verifier")
	if err != nil {
		return nil, err
	}
	return newHandler(dist, verifier)
}

func newHandler(dist, verifier fs.FS) (*Handler, error) {
	h := &Handler{files: map[string]*file{}}
	if err := h.add(dist, ""); err != nil {
		return nil, err
	}
	page := h.files["index.html"]
	if page == nil {
		return nil, fmt.Errorf("explorer: there is no index.html in dist: run web/explorer/build.sh")
	}
	if err := h.add(verifier, "verifier/"); err != nil {
		return nil, err
	}
	if h.files["verifier/index.js"] != nil { // otherwise the pages show no button for it
		told := bytes.Replace(page.content, []byte("<body>"), []byte("<body data-verifier>"), 1)
		h.files["index.html"] = newFile("index.html", told)
	}
	return h, nil
}

// add reads the files of a tree and adds prefix to their names.
func (h *Handler) add(tree fs.FS, prefix string) error {
	return fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		h.files[prefix+name] = newFile(name, content)
		return nil
	})
}

func newFile(name string, content []byte) *file {
	digest := sha256.Sum256(content)
	return &file{
		content: content, compressed: sync.OnceValues(func() ([]byte, error) { return compress(content) }),
		mediaType: cmp.Or(mediaTypes[path.Ext(name)], "text/plain; charset=utf-8"), tag: `"` +
			hex.EncodeToString(digest[:8]) + `"`,
	}
}

func compress(content []byte) ([]byte, error) {
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = writer.Write(content)
	}
	if err == nil {
		err = writer.Close()
	}
	return packed.Bytes(), err
}

// mediaTypes maps the extensions of the served files; package mime would depend on the machine's tables.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".wasm": "application/wasm",
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "The explorer's files are read-only.", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, Path)
	f := h.files[name]
	switch {
	case f == nil && strings.Contains(name, "."):
		http.Error(w, "No such file.", http.StatusNotFound)
		return
	case f == nil:
		f = h.files["index.html"]
	}
	f.serve(w, r, strings.HasPrefix(name, "assets/"))
}

// serve answers with the file. If named is set, the name contains a hash of the content, so the file never changes.
func (f *file) serve(w http.ResponseWriter, r *http.Request, named bool) {
	w.Header().Set("Content-Type", f.mediaType)
	w.Header().Set("ETag", f.tag)
	w.Header().Add("Vary", "Accept-Encoding")
	w.Header().Set("Cache-Control", "no-cache")
	if named {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	content := f.content
	switch {
	case !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"):
	case r.Method == http.MethodHead: // has no Content-Length
		w.Header().Set("Content-Encoding", "gzip")
	default:
		if packed, err := f.compressed(); err == nil {
			w.Header().Set("Content-Encoding", "gzip")
			content = packed
		} // otherwise it is sent uncompressed: compressing in memory fails only without memory
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content)) // it compares If-None-Match with the ETag
}

// Front redirects a browser that asks for a page to the explorer, and passes all other requests to next.
func Front(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, Path, http.StatusFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}
