package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/api"
	members "github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/types"
)

// ahead is the error of the stand-in's clock.
const ahead = 2 * time.Second

// standIn answers for a stopped member, with that member's key and a wrong clock. Its other methods are never used.
type standIn struct{ members.Handler }

func (standIn) Deliver(*raftpb.Message)         {}
func (standIn) Unreachable(uint64)              {}
func (standIn) Lease(uint64, types.Height) bool { return false }

func (standIn) Proof([]types.Height) (types.Height, []byte, error) { return 0, nil, nil }

func (standIn) Refused(members.Peer, *members.Refusal) {}

func (standIn) Report() members.Report {
	return members.Report{Wall: uint64(time.Now().Add(ahead).UnixMilli()), Program: "a stand-in"}
}

// setClock replaces another member by a stand-in, as all members share the machine's clock.
func setClock(ctx context.Context, st *stage) error {
	n := st.members[len(st.members)-1]
	if err := n.stop(os.Interrupt); err != nil {
		return err
	}
	stand, err := st.standInFor(ctx, n)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", st.linkAddress(len(st.members)))
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- stand.Serve(listener) }()
	return until(ctx, func(ctx context.Context) error {
		stand.Close()
		errs := []error{<-served}
		// The others remember the stand-in's promises until they are restarted.
		errs = append(errs, st.stop(os.Interrupt), st.members[0].stop(os.Interrupt), st.start(ctx, st.starts...))
		for i, n := range st.members {
			errs = append(errs, n.start(ctx, "--cluster-addr", st.linkAddress(i+1)))
		}
		return errors.Join(append(errs, st.whole(ctx))...)
	})
}

// standInFor returns the link of a stopped member to the members that the node knows. It presents itself as about to
// join, so it need not know what they agreed on, and as having promised everything, as the member may have.
func (st *stage) standInFor(ctx context.Context, n *node) (*members.Link, error) {
	key, err := os.ReadFile(filepath.Join(n.data, "member.key"))
	if err != nil {
		return nil, err
	}
	identity, err := members.ReadIdentity(key)
	if err != nil {
		return nil, err
	}
	first, err := st.client.BlockByNumber(ctx, api.AtHeight(0), false)
	if err != nil {
		return nil, err
	}
	var status clusterStatus
	if err := st.asks(ctx, &status, "cluster", "status", "--admin", st.admin()); err != nil {
		return nil, err
	}
	var peers []members.Peer
	for _, m := range status.Members {
		pin, err := members.ParsePin(m.Pin)
		if err != nil {
			return nil, err
		}
		peers = append(peers, members.Peer{Address: m.Address, Pin: pin})
	}
	const most = 1 << 40
	hello := members.Hello{
		Chain:     first.Hash,
		Boot:      most,
		Term:      most,
		LastIndex: most,
		Kinds:     1<<32 - 1,
		Program:   "a stand-in",
	}
	stand := members.New(members.Config{
		Identity: identity,
		Handler:  standIn{},
		Hello:    func() members.Hello { return hello },
	})
	stand.SetPeers(peers)
	return stand, nil
}
