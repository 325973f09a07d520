// Package members lets an operator's commands talk to a member of a cluster: JSON over HTTP, below /cluster/ of the
// node's admin address. [Routes] is the node's side, [Client] the command's.
package members

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cairn-chain/cairn/internal/server/admin"
)

// Status is a member's view of its cluster.
type Status struct {
	Verdict  string   `json:"verdict"` // whether blocks are made, and if not, why
	Voters   int      `json:"voters"`
	Reached  int      `json:"reached"` // reachable voters, including this member
	Needed   int      `json:"needed"`  // reachable voters needed to make blocks
	Cluster  string   `json:"cluster"`
	Self     string   `json:"self"`  // name
	State    string   `json:"state"` // this member's activity, as svc_getSyncStatus reports it
	Reason   string   `json:"reason,omitempty"`
	Leader   string   `json:"leader"` // name; empty if unknown
	Term     uint64   `json:"term"`
	Applied  uint64   `json:"applied"` // index of the log
	Last     uint64   `json:"last"`    // index of the log
	LogBytes uint64   `json:"logBytes"`
	Height   uint64   `json:"height"`
	Members  []Member `json:"members"`
}

// Member is a member of a cluster. Facts about another member are as old as the last contact with it, and empty without
// one.
type Member struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	Address       string `json:"address"`
	RPC           string `json:"rpc,omitempty"`
	Pin           string `json:"pin"`
	Voter         bool   `json:"voter"`
	Key           bool   `json:"key"` // it signs blocks
	Reached       bool   `json:"reached"`
	Fault         string `json:"fault,omitempty"` // why it is not reachable
	Reported      bool   `json:"reported"`        // whether the next three fields are recent; otherwise they are 0
	Applied       uint64 `json:"applied"`
	Lag           uint64 `json:"lag"` // entries behind this member's log
	ClockOffsetMS int64  `json:"clockOffsetMs"`
	Starts        uint64 `json:"starts"`
	Unfit         string `json:"unfit,omitempty"` // why it cannot lead
	Program       string `json:"program,omitempty"`
}

// Addition describes a member to add.
type Addition struct {
	Name    string `json:"name"`
	Address string `json:"address"` // host:port
	RPC     string `json:"rpc"`     // base URL of its JSON-RPC; may be empty
	Pin     string `json:"pin"`     // 64 hex digits
	NoKey   bool   `json:"noKey"`   // it votes but signs no blocks

	// Producer is the public key that belongs to the member's private key; empty if unknown.
	Producer string `json:"producer,omitempty"`
}

// named is a request that names a member.
type named struct {
	Name string `json:"name"`
}

// Cluster is the interface through which an operator controls a member's cluster. Its errors are shown to the operator.
type Cluster interface {
	Status() Status
	Add(ctx context.Context, a Addition) error
	// Remove removes the named member. Transfer makes the named member the leader; an empty name stands for any other.
	Remove(ctx context.Context, name string) error
	Transfer(ctx context.Context, name string) error
}

// The paths of the cluster's routes on the node's admin address.
const (
	statusPath   = "/cluster/status"
	addPath      = "/cluster/add"
	removePath   = "/cluster/remove"
	transferPath = "/cluster/transfer"
)

const (
	maxRequest = 4 << 10
	maxAnswer  = 1 << 20
	// changeTime bounds the time until most members have a change.
	changeTime = 20 * time.Second
)

// Routes returns the routes of a cluster: GET /cluster/status, and POST /cluster/add, remove and transfer. A 409
// contains the reason why nothing was changed.
func Routes(c Cluster) []admin.Route {
	status := func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, c.Status()) }
	remove := func(ctx context.Context, n named) error { return c.Remove(ctx, n.Name) }
	transfer := func(ctx context.Context, n named) error { return c.Transfer(ctx, n.Name) }
	return []admin.Route{
		{Pattern: "GET " + statusPath, Open: true, Serve: status},
		{Pattern: "POST " + addPath, Serve: change(c.Add)},
		{Pattern: "POST " + removePath, Serve: change(remove)},
		{Pattern: "POST " + transferPath, Serve: change(transfer)},
	}
}

type failure struct {
	Error string `json:"error"`
}

// change returns a handler that decodes a request and calls do with it.
func change[T any](do func(context.Context, T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request T
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&request); err != nil {
			answer(w, http.StatusBadRequest, failure{"the body cannot be read: " + err.Error()})
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), changeTime)
		defer cancel()
		if err := do(ctx, request); err != nil {
			answer(w, http.StatusConflict, failure{err.Error()})
			return
		}
		answer(w, http.StatusOK, struct{}{})
	}
}

func answer(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", admin.JSON)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value) // fails only if the client has gone
}

// Client calls a node's admin address.
type Client struct{ Node admin.Client }

// Status returns the node's view of its cluster.
func (c Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.ask(ctx, http.MethodGet, statusPath, nil, &s)
}

// Add adds a member.
func (c Client) Add(ctx context.Context, a Addition) error {
	return c.ask(ctx, http.MethodPost, addPath, a, nil)
}

// Remove removes a member.
func (c Client) Remove(ctx context.Context, name string) error {
	return c.ask(ctx, http.MethodPost, removePath, named{name}, nil)
}

// Transfer makes the named member the leader; an empty name stands for any member but the present leader.
func (c Client) Transfer(ctx context.Context, name string) error {
	return c.ask(ctx, http.MethodPost, transferPath, named{name}, nil)
}

// ErrNoCluster is returned when the node is not a member of a cluster.
var ErrNoCluster = errors.New("the node is not a cluster member, so its admin address serves nothing below /cluster/")

func (c Client) ask(ctx context.Context, method, path string, request, result any) error {
	ctx, cancel := context.WithTimeout(ctx, changeTime+10*time.Second)
	defer cancel()
	var body io.Reader
	if request != nil {
		content, err := json.Marshal(request)
		if err != nil {
			return err
		}
		body = bytes.NewReader(content)
	}
	response, err := c.Node.Do(ctx, method, path, admin.JSON, body)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusNotFound:
		return ErrNoCluster
	case response.StatusCode == http.StatusOK && result == nil:
		return nil
	case response.StatusCode == http.StatusOK:
		return json.Unmarshal(content, result)
	}
	var f failure
	if err := json.Unmarshal(content, &f); err != nil || f.Error == "" {
		return fmt.Errorf("the node answered %s", response.Status)
	}
	return errors.New(f.Error)
}
