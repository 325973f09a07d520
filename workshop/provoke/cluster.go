package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/badmemory"
)

// clusterPorts is the offset of the other members' ports from the node's: two for each, followed by one link port for
// each member, the node's first.
const clusterPorts = 5

// others are the names of the other members.
var others = []string{"b", "c"}

// linkAddress returns the link address of a numbered member; 0 is the node.
func (st *stage) linkAddress(number int) string {
	return fmt.Sprintf("127.0.0.1:%d", st.firstPort+clusterPorts+2*len(others)+number)
}

// asks runs a command and decodes its result.
func (st *stage) asks(ctx context.Context, result any, args ...string) error {
	output, err := exec.CommandContext(ctx, st.settings.program, append(args, "--json")...).Output()
	if err != nil {
		return fmt.Errorf("cairn %s: %w: %s", args[0], err, output)
	}
	return json.Unmarshal(output, &struct {
		Result any `json:"result"`
	}{result})
}

// joined is a member's pin, as printed by cairn cluster init and join.
type joined struct {
	Pin string `json:"pin"`
}

// gather makes the node a member of a cluster with two others, and returns once all are voters.
func (st *stage) gather(ctx context.Context) error {
	var first joined
	if err := st.asks(
		ctx, &first, "cluster", "init", "--data-dir", st.data, "--name", "a", "--address", st.linkAddress(0),
	); err != nil {
		return err
	}
	st.starts = append(st.starts, "--cluster-addr", st.linkAddress(0))
	if err := errors.Join(st.start(ctx, st.starts...), st.whole(ctx)); err != nil {
		return err
	}
	for i, name := range others {
		n := &node{
			program: st.settings.program,
			name:    name,
			dir:     st.dir,
			data:    filepath.Join(st.dir, name),
			port:    st.firstPort + clusterPorts + 2*i,
		}
		st.members = append(st.members, n)
		if err := st.enlist(ctx, n, first.Pin, st.linkAddress(i+1)); err != nil {
			return err
		}
	}
	return nil
}

// enlist adds a member with a new directory, and starts it.
func (st *stage) enlist(ctx context.Context, n *node, peerPin, address string) error {
	if err := os.Mkdir(n.data, 0o700); err != nil {
		return err
	}
	for _, file := range []string{"genesis.json", "protocol.key"} {
		if err := execute(ctx, "cp", "-p", filepath.Join(st.data, file), n.data); err != nil {
			return err
		}
	}
	var own joined
	err := st.asks(ctx, &own, "cluster", "join", "--data-dir", n.data, "--name", n.name, "--address", address,
		"--peer", st.linkAddress(0), "--peer-pin", peerPin)
	if err != nil {
		return err
	}
	if err := st.tell(ctx, "add", n.name, "--address", address, "--pin", own.Pin); err != nil {
		return err
	}
	if err := n.start(ctx, "--cluster-addr", address); err != nil {
		return err
	}
	return st.whole(ctx) // the next is added once this one is a voter
}

// clusterStatus is a member's view of its cluster.
type clusterStatus struct {
	Leader  string `json:"leader"`
	Members []struct {
		Name    string `json:"name"`
		Address string `json:"address"`
		Pin     string `json:"pin"`
		Voter   bool   `json:"voter"`
		Reached bool   `json:"reached"`
	} `json:"members"`
}

// whole waits until all members are reachable voters with a leader.
func (st *stage) whole(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healed)
	defer cancel()
	return every(ctx, scrape, func() (bool, error) {
		var status clusterStatus
		if err := st.asks(ctx, &status, "cluster", "status", "--admin", st.admin()); err != nil {
			return false, err
		}
		good := status.Leader != ""
		for _, m := range status.Members {
			good = good && m.Voter && m.Reached
		}
		return good, nil
	})
}

// leader returns the leader, or nil if none is known.
func (st *stage) leader(ctx context.Context) (*node, error) {
	all := map[string]*node{"a": &st.node}
	for _, n := range st.members {
		all[n.name] = n
	}
	var status clusterStatus
	err := st.asks(ctx, &status, "cluster", "status", "--admin", st.admin())
	return all[status.Leader], err
}

// asLeader runs a command of cairn cluster on a leader.
func (st *stage) asLeader(ctx context.Context, leader *node, command ...string) error {
	return st.cairn(ctx, slices.Concat([]string{"cluster"}, command, leader.adminFlags())...)
}

// tell runs a command on the leader, repeating it if the leader changes.
func (st *stage) tell(ctx context.Context, command ...string) (refused error) {
	ctx, cancel := context.WithTimeout(ctx, healed)
	defer cancel()
	err := every(ctx, scrape, func() (bool, error) {
		leader, err := st.leader(ctx)
		if err != nil || leader == nil {
			return false, err
		}
		refused = st.asLeader(ctx, leader, command...)
		return refused == nil, nil
	})
	return errors.Join(err, refused)
}

// loseMajority kills the other members.
func loseMajority(ctx context.Context, st *stage) error {
	for _, n := range st.members {
		if err := n.stop(os.Kill); err != nil {
			return err
		}
	}
	return until(ctx, func(ctx context.Context) error {
		var errs []error
		for i, n := range st.members {
			errs = append(errs, n.start(ctx, "--cluster-addr", st.linkAddress(i+1)))
		}
		return errors.Join(append(errs, st.whole(ctx))...)
	})
}

// hangMember stops another member's process, so that its connections stay open.
func hangMember(ctx context.Context, st *stage) error {
	n := st.members[len(st.members)-1]
	if err := n.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return until(ctx, func(context.Context) error { return n.Signal(syscall.SIGCONT) })
}

// changeLeaders transfers the leadership repeatedly.
func changeLeaders(ctx context.Context, st *stage) error {
	return asAsked(ctx, every(ctx, time.Second/4, func() (bool, error) {
		leader, err := st.leader(ctx)
		if err != nil || leader == nil {
			return false, err
		}
		err = st.asLeader(ctx, leader, "transfer")
		if ctx.Err() == nil && err != nil {
			return false, nil // it timed out, or there is another leader by now
		}
		return false, err
	}))
}

// runRemoved removes a member and starts it again. It learns of its removal and stops.
func runRemoved(ctx context.Context, st *stage) error {
	n := st.members[len(st.members)-1]
	if err := n.stop(os.Kill); err != nil {
		return err
	}
	if err := st.tell(ctx, "remove", n.name); err != nil {
		return err
	}
	address := st.linkAddress(len(st.members))
	st.members = st.members[:len(st.members)-1]
	if err := n.start(ctx, "--cluster-addr", address); err != nil {
		return err
	}
	return until(ctx, func(context.Context) error { return n.stop(os.Kill) })
}

// pay sends the smallest unit of a coin.
func (st *stage) pay(ctx context.Context) error {
	signer := client.NewSigner(st.treasury)
	chainID, err := st.client.ChainID(ctx)
	if err != nil {
		return err
	}
	nonce, err := st.client.Nonce(ctx, signer.Account(), api.Pending())
	if err != nil {
		return err
	}
	signed, err := client.Sign(ctx, signer, types.Transaction{
		ChainID:              chainID,
		Sender:               signer.Account(),
		Nonce:                nonce,
		GasLimit:             100_000,
		MaxFeePerGas:         1000,
		MaxPriorityFeePerGas: 1,
		Target:               types.Account{31: 7},
		Value:                1,
		Payload:              types.Transfer{},
	})
	if err != nil {
		return err
	}
	_, err = st.client.Send(ctx, signed)
	return err
}

// misremember starts the node with an altered balance in its database, of an account that a block then reads.
func misremember(ctx context.Context, st *stage) error {
	account := types.Account(st.treasury.PublicKey())
	change := func(ctx context.Context, add int64) error {
		if err := st.stop(os.Interrupt); err != nil {
			return err
		}
		return errors.Join(badmemory.Balance(st.data, account, add), st.start(ctx, st.starts...), st.whole(ctx))
	}
	if err := change(ctx, 1); err != nil {
		return err
	}
	if err := st.pay(ctx); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error { return change(ctx, -1) })
}
