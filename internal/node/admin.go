package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/logs"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/front"
	"github.com/cairn-chain/cairn/internal/server/members"
	"github.com/cairn-chain/cairn/internal/server/provers"
	"github.com/cairn-chain/cairn/internal/server/sources"
)

// adminConfig is what the admin address serves.
func (n *Node) adminConfig() admin.Config {
	config := admin.Config{
		Ready:     n.ready,
		Metrics:   n.telemetry.Handler(),
		Backup:    func() (string, error) { return n.dir.Backup(time.Now()) },
		Parts:     append(provers.Routes(n.queue), sources.Publishing(n.sources)),
		AllowHost: front.NewHosts(n.config.AdminHosts, true).Allow,
		Token:     n.adminToken,
	}
	if n.member != nil {
		config.Leads = n.member.leads
		config.Parts = append(config.Parts, members.Routes(operator{n.member})...)
	}
	return config
}

// openToken reads the admin token, and makes one where none is named.
func (n *Node) openToken() (err error) {
	if n.config.AdminTokenFile == "" {
		if n.config.AdminTokenFile, err = n.dir.AdminToken(); err != nil {
			return fmt.Errorf("the admin token: %w", err)
		}
	}
	if n.adminToken, err = admin.ReadToken(n.config.AdminTokenFile); err != nil {
		return fmt.Errorf("the admin token (--admin-token-file): %w", err)
	}
	return nil
}

// Admin is how this machine asks the node's admin address.
func (n *Node) Admin() admin.Client {
	return admin.Client{URL: "http://" + n.listeners.admin.Addr().String(), TokenFile: n.config.AdminTokenFile}
}

// serve serves the admin address.
func (n *Node) serve(group *errgroup.Group, listener net.Listener, handler http.Handler) *http.Server {
	// Requests that wait for something end with the server.
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Handler:           front.SteadyBodies(handler),
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnState:         admin.NewConnections(machine.AdminConnections).Note,
		ErrorLog:          logs.Of(n.config.Log, "a connection of the admin address came to nothing"),
	}
	server.RegisterOnShutdown(cancel)
	group.Go(func() error {
		defer cancel()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return server
}

func (n *Node) ready() (bool, string) {
	if n.member != nil {
		return n.member.ready()
	}
	if reason := n.elsewhere(); reason != "" && n.config.Mode == api.ModePrimary {
		return false, reason
	}
	if !n.produces.Load() {
		return readyToServe(n.replica.Status(), n.config.Follow.MaxLag)
	}
	if status := n.sequencer.Status(); status.State != sequencer.Producing {
		return false, status.Reason
	}
	if reason := n.unsigned(); reason != "" {
		return false, reason
	}
	if n.pool.Failing() != nil { // the log says why
		return false, "transactions are refused: the mempool's journal cannot be written"
	}
	return true, ""
}
