package node

import (
	"net/http"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/server/explorer"
	"github.com/cairn-chain/cairn/internal/server/front"
	"github.com/cairn-chain/cairn/internal/server/push"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/server/snapshots"
	"github.com/cairn-chain/cairn/internal/server/sources"
)

// socketPercent is the WebSockets' share of all connections. A WebSocket makes way only for another WebSocket, so the
// rest is reserved for other connections.
const socketPercent = 75

// newPush makes the server of /ws. The front server has already checked the origin.
func (n *Node) newPush() *push.Server {
	return push.New(push.Config{
		Chain:          n.store,
		Calls:          n.rpc.Calls(),
		Source:         n.rpc.Feed(),
		Pending:        n.pending,
		Log:            n.config.Log,
		WriteTimeout:   n.config.SlowReader,
		CheckOrigin:    func(*http.Request) bool { return true },
		MaxConnections: n.config.HTTP.MaxConnections * socketPercent / 100,
		Ticket:         func(of *request.Request) push.Ticket { return front.NewTicket(of) },
	})
}

// public returns the handler of the public address for everything except POST /.
func (n *Node) public() (http.Handler, error) {
	files := make(fileReads, n.config.FileReads)
	mux := http.NewServeMux()
	mux.Handle("/ws", n.push)
	if n.snapshots != nil {
		mux.Handle(snapshot.PathPrefix, files.bound(snapshots.Handler(n.snapshots)))
	}
	mux.Handle(api.SourcesPath, files.bound(sources.Handler(n.sources)))
	mux.Handle("/", n.rpc)
	if n.config.Explorer {
		pages, err := explorer.New()
		if err != nil {
			return nil, err
		}
		mux.Handle(explorer.Path, pages)
		mux.Handle("/{$}", explorer.Front(n.rpc))
	}
	return mux, nil
}

// fileReads is a semaphore for files read for clients. A client holds its place until it has received the file.
type fileReads chan struct{}

// bound limits a handler that serves files from disk. It does not wait: without a free place the answer is 503.
func (f fileReads) bound(h http.Handler) http.Handler {
	if cap(f) == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case f <- struct{}{}:
			defer func() { <-f }()
			h.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "5")
			http.Error(w, "The server is busy: too many files are being read.", http.StatusServiceUnavailable)
		}
	})
}
