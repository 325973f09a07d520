// Package snapshots serves a node's snapshots of the state over HTTP.
package snapshots

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/snapshot"
)

// Handler serves GET /snapshots/HEIGHT/FILE, a manifest or a chunk, with ranges (RFC 9110). A chunk's ETag is its
// SHA-256.
func Handler(d *snapshot.Directory) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, d) })
}

func serve(w http.ResponseWriter, r *http.Request, d *snapshot.Directory) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a snapshot is read with GET", http.StatusMethodNotAllowed)
		return
	}
	height, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, snapshot.PathPrefix), "/")
	file, err := d.Open(height, name)
	if err != nil {
		http.NotFound(w, r) // it may have been pruned just now
		return
	}
	defer file.Close()
	if file.Chunk == nil {
		w.Header().Set("Content-Type", "application/json")
	} else {
		w.Header().Set("Content-Type", "application/zstd")
		w.Header().Set("ETag", strconv.Quote(file.Chunk.SHA256.String()))
	}
	http.ServeContent(w, r, name, time.Unix(int64(file.Created), 0), file)
}
