package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/cairn-chain/cairn/internal/accept"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/logs"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/reload"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/front"
	"github.com/cairn-chain/cairn/internal/server/provers"
	"github.com/cairn-chain/cairn/internal/server/sources"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
)

// adminConfig returns the configuration of the admin address.
func (n *Node) adminConfig() admin.Config {
	config := admin.Config{
		Ready:   n.ready,
		Metrics: shared(n.admission.Short().Kind(1, 0), n.telemetry.Handler()),
		Backup:  func() (string, error) { return n.dir.Backup(time.Now()) },
		Parts:   append(provers.Routes(n.queue), sources.Publishing(n.sources)),
		Token:   n.adminToken,
	}
	n.role.Administer(&config)
	return config
}

// shared returns a handler that computes one answer at a time, for all who wait for it by then: however many ask, and
// however often, the node has time for others. The answer is written after its turn, so that a client that does not
// read it keeps nobody waiting.
func shared(lane *admission.Lane, next http.Handler) http.Handler {
	var waiting singleflight.Group
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		same := fmt.Sprintf("%q %q %q", r.URL.RawQuery, r.Header["Accept"], r.Header["Accept-Encoding"])
		computed, err, _ := waiting.Do(same, func() (any, error) {
			turn := &admission.Turn{}
			if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
				turn.Client.Place = from.Addr()
			}
			ctx := context.WithValue(context.WithoutCancel(r.Context()), admission.TurnKey{}, turn) // others wait too
			answer := &heldAnswer{header: http.Header{}, status: http.StatusOK}
			err := lane.Run(ctx, func() {
				waiting.Forget(same) // who asks from now on wants newer numbers
				next.ServeHTTP(answer, r)
			})
			return answer, err
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		answer := computed.(*heldAnswer)
		maps.Copy(w.Header(), answer.header)
		w.WriteHeader(answer.status)
		_, _ = w.Write(answer.body.Bytes()) // fails only if the client has gone
	})
}

// heldAnswer holds an answer.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *heldAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *heldAnswer) WriteHeader(status int) { a.status = status }

// Write implements io.Writer.
func (a *heldAnswer) Write(b []byte) (int, error) { return a.body.Write(b) }

// openAdmin serves the admin address, unless the configuration has one that is already served.
func (n *Node) openAdmin() (err error) {
	if n.admin = n.config.Admin; n.admin == nil {
		n.admin, err = ListenAdmin(n.config.AdminAddr, nil, n.config.Build, n.config.Log)
	}
	if err == nil {
		n.opened("the admin address", func() error { n.admin.Close(); return nil })
	}
	return err
}

// openToken loads the admin token. If the configuration names no file, it uses the data directory's, which is made if
// there is none.
func (n *Node) openToken() (err error) {
	if n.config.AdminTokenFile == "" {
		if n.config.AdminTokenFile, err = n.dir.AdminToken(); err != nil {
			return fmt.Errorf("the admin token: %w", err)
		}
	}
	file := n.config.AdminTokenFile
	token, err := reload.Watch(n.config.Files, func() (admin.Token, error) { return admin.ReadToken(file) }, file)
	if err != nil {
		return fmt.Errorf("the admin token (--admin-token-file): %w", err)
	}
	n.adminToken = func() admin.Token { return *token.Get() }
	return nil
}

// Admin returns a client of the node's admin address for processes on this machine.
func (n *Node) Admin() admin.Client {
	return admin.Client{URL: n.admin.URL(), TokenFile: n.config.AdminTokenFile}
}

// Admin is the server of a process's admin address. It serves from the start of the process, before there is a node.
type Admin struct {
	listener net.Listener
	server   *http.Server
	allow    func(host string) bool
	handler  atomic.Pointer[http.Handler]
	stage    atomic.Pointer[string]
	log      *slog.Logger
	ended    chan error
}

// ListenAdmin serves the health, metrics and unready state of a process that starts. hosts are names that the address
// accepts in addition to local ones. The caller must close the Admin.
func ListenAdmin(address string, hosts []string, info build.Info, log *slog.Logger) (*Admin, error) {
	listener, err := accept.Listen(address, "--admin-addr", log)
	if err != nil {
		return nil, err
	}
	a := &Admin{
		listener: listener, allow: front.NewHosts(hosts, true).Allow, log: log, ended: make(chan error, 1),
	}
	a.Say("starting")
	a.Serve(admin.Config{
		Ready:   func() (bool, string) { return false, *a.stage.Load() },
		Metrics: telemetry.NewProcess(info, log).Handler(),
		Parts: []admin.Route{{Pattern: "/", Open: true, Serve: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "This address does not serve that yet: "+*a.stage.Load()+".", http.StatusServiceUnavailable)
		}}},
	})
	ctx, cancel := context.WithCancel(context.Background())
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*a.handler.Load()).ServeHTTP(w, r) })
	a.server = &http.Server{
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Handler:           front.SteadyBodies(handler),
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnState:         admin.NewConnections(machine.AdminConnections).Note,
		ErrorLog:          logs.Of(log, "a connection to the admin address failed"),
	}
	a.server.RegisterOnShutdown(cancel) // waiting requests end with the server
	go func() {
		defer cancel()
		a.ended <- a.server.Serve(listener)
	}()
	return a, nil
}

// URL returns the base URL of the address.
func (a *Admin) URL() string { return "http://" + a.listener.Addr().String() }

// Say sets the reason why the process is not ready during its start.
func (a *Admin) Say(stage string) { a.stage.Store(&stage) }

// Serve replaces the served configuration. The accepted host names stay the same.
func (a *Admin) Serve(config admin.Config) {
	config.AllowHost = a.allow
	handler := admin.New(config)
	a.handler.Store(&handler)
}

// Wait waits for the server to fail, and returns nil if ctx ends first.
func (a *Admin) Wait(ctx context.Context) error {
	select {
	case err := <-a.ended:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	case <-ctx.Done():
		return nil
	}
}

// Shutdown closes the address after running requests have ended. When ctx ends, it cuts them.
func (a *Admin) Shutdown(ctx context.Context) {
	if err := a.server.Shutdown(ctx); err != nil {
		a.log.Warn("shutdown: closed remaining connections of the admin address", "error", err)
		_ = a.server.Close() // their time is over
	}
}

// Close closes the address at once.
func (a *Admin) Close() { _ = a.server.Close() }

// ready reports whether the node may receive traffic, or the reason why not.
func (n *Node) ready() (bool, string) {
	c := n.role.Condition()
	return c.Ready, c.Reason
}
