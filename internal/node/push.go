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

// socketPercent is how many of all connections may be WebSockets. They make way only for each other, so some are kept from them.
const socketPercent = 75

// newPush makes the server of /ws. Front has checked the origin of what it hands over.
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

// public is what the public address serves beside POST /.
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

// fileReads has a place for each file that is read for a client: it is open for as long as the client takes it.
type fileReads chan struct{}

// bound has a handler that serves a file from disk wait for none: without a place the answer is 503.
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
			http.Error(w, "The server is busy: too many files are being read at present.", http.StatusServiceUnavailable)
		}
	})
}
