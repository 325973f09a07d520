package sources

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/internal/server/admin"
)

// PublishPath is the path on the admin address for publishing an archive.
const PublishPath = "/sources"

const archiveType = "application/x-tar"

// Handler serves GET /sources/HASH, the archive with that hash, with ranges (RFC 9110).
func Handler(d *Directory) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+api.SourcesPath+"{hash}", func(w http.ResponseWriter, r *http.Request) {
		var hash contractsource.Hash
		digits, ok := strings.CutPrefix(r.PathValue("hash"), "0x")
		if n, err := hex.Decode(hash[:], []byte(digits[:min(len(digits), 2*len(hash))])); !ok || err != nil ||
			n != len(hash) || len(digits) != 2*len(hash) {
			http.Error(w, "The path must end with the hash of an archive: 0x and 64 hex digits.", http.StatusBadRequest)
			return
		}
		if d.path == "" {
			http.NotFound(w, r)
			return
		}
		file, err := os.Open(d.file(hash))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			http.NotFound(w, r)
			return
		}
		header := w.Header()
		header.Set("Content-Type", archiveType)
		header.Set("Content-Disposition", `attachment; filename="`+hash.String()+`.source.tar"`)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("ETag", strconv.Quote(hash.String()))
		http.ServeContent(w, r, "", info.ModTime(), file)
	})
	return mux
}

// Publishing returns the route that receives an archive by PUT. It answers 204 when the archive is on disk, 415 if the
// media type is not that of an archive, and 422 with the reason if the body is not an archive that
// [contractsource.Source.Archive] writes. It answers 507 if there is no room, and 409 if the node keeps nothing on
// disk.
func Publishing(d *Directory) admin.Route {
	return admin.Route{Pattern: "PUT " + PublishPath, Serve: func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") != archiveType {
			http.Error(w, "the request must be of type "+archiveType, http.StatusUnsupportedMediaType)
			return
		}
		archive, err := io.ReadAll(http.MaxBytesReader(w, r.Body, contractsource.MaxArchiveBytes))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch _, err := d.Keep(archive); {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
		case errors.Is(err, contractsource.ErrSource):
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		case errors.Is(err, ErrFull):
			http.Error(w, err.Error(), http.StatusInsufficientStorage)
		case errors.Is(err, ErrMemory):
			http.Error(w, err.Error(), http.StatusConflict)
		default:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}}
}

// maxAnswer bounds the bytes read of a refusal.
const maxAnswer = 4 << 10

// Publish sends an archive to a node. Its error contains the node's answer.
func Publish(ctx context.Context, node admin.Client, archive []byte) error {
	response, err := node.Do(ctx, http.MethodPut, PublishPath, archiveType, bytes.NewReader(archive))
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if response.StatusCode == http.StatusNoContent {
		return nil
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	return fmt.Errorf("the node answered %s: %s", response.Status, strings.TrimSpace(string(answer)))
}
