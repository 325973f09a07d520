// Package members is how an operator's commands and a cluster's member speak to each other: JSON over HTTP, below
// /cluster/ of the node's admin address. [Routes] is the node's end, [Client] the command's.
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

// Status is what a member knows of its cluster.
type Status struct {
	Verdict  string   `json:"verdict"` // whether blocks are made, and what keeps them
	Voters   int      `json:"voters"`
	Reached  int      `json:"reached"` // of the voters, this member among them
	Needed   int      `json:"needed"`  // of them, for blocks to be made
	Cluster  string   `json:"cluster"`
	Self     string   `json:"self"`  // name
	State    string   `json:"state"` // what this member does, as svc_getSyncStatus says
	Reason   string   `json:"reason,omitempty"`
	Leader   string   `json:"leader"` // name; empty: none is heard of
	Term     uint64   `json:"term"`
	Applied  uint64   `json:"applied"` // index of the log
	Last     uint64   `json:"last"`    // index of the log
	LogBytes uint64   `json:"logBytes"`
	Height   uint64   `json:"height"`
	Members  []Member `json:"members"`
}

// Member is one of a cluster's. What a member knows of another is as old as their last contact, and empty without one.
type Member struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	Address       string `json:"address"`
	RPC           string `json:"rpc,omitempty"`
	Pin           string `json:"pin"`
	Voter         bool   `json:"voter"`
	Key           bool   `json:"key"` // whether it signs blocks
	Reached       bool   `json:"reached"`
	Fault         string `json:"fault,omitempty"` // why it is not reached
	Reported      bool   `json:"reported"`        // whether it told lately what the next three are; 0 if not
	Applied       uint64 `json:"applied"`
	Lag           uint64 `json:"lag"` // entries behind this member's log
	ClockOffsetMS int64  `json:"clockOffsetMs"`
	Starts        uint64 `json:"starts"`
	Unfit         string `json:"unfit,omitempty"` // why it cannot do a leader's work
	Program       string `json:"program,omitempty"`
}

// Addition is a member that is to be added.
type Addition struct {
	Name    string `json:"name"`
	Address string `json:"address"` // host:port
	RPC     string `json:"rpc"`     // base URL of its JSON-RPC; may be empty
	Pin     string `json:"pin"`     // 64 hex digits
	NoKey   bool   `json:"noKey"`   // it votes and signs no blocks

	// Producer is the public key of the producer whose private key it has; empty where that is not known.
	Producer string `json:"producer,omitempty"`
}

// named is the member that a request is about.
type named struct {
	Name string `json:"name"`
}

// Cluster is what a member's node lets an operator do. An error is told to the operator.
type Cluster interface {
	Status() Status
	Add(ctx context.Context, a Addition) error
	// Remove removes a member of a name, Transfer makes it the leader; of no name: another one.
	Remove(ctx context.Context, name string) error
	Transfer(ctx context.Context, name string) error
}

// The paths under which a cluster is served, on the node's admin address.
const (
	statusPath   = "/cluster/status"
	addPath      = "/cluster/add"
	removePath   = "/cluster/remove"
	transferPath = "/cluster/transfer"
)

const (
	maxRequest = 4 << 10
	maxAnswer  = 1 << 20
	// changeTime is how long a change may take, until most members have it.
	changeTime = 20 * time.Second
)

// Routes serve a cluster: GET /cluster/status, and POST /cluster/add, remove and transfer. An answer of 409 has why
// nothing was changed.
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

// change serves a change.
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
	_ = json.NewEncoder(w).Encode(value) // a client that has gone away is no fault
}

// Client asks a node's admin address.
type Client struct{ Node admin.Client }

// Status asks what the node knows of its cluster.
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

// Transfer makes a member the leader; of no name: another one than now.
func (c Client) Transfer(ctx context.Context, name string) error {
	return c.ask(ctx, http.MethodPost, transferPath, named{name}, nil)
}

// ErrNoCluster is the error of a node that is of no cluster.
var ErrNoCluster = errors.New("the node is of no cluster: there is nothing below /cluster/ of its admin address")

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
		return fmt.Errorf("the node answers %s", response.Status)
	}
	return errors.New(f.Error)
}
