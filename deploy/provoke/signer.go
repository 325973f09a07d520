package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/testkit/program"
)

// signerPort is where the signer's port is, after the node's.
const signerPort = 20

// signer is `cairn signer run`, which may be stopped and started again.
type signer struct {
	*program.Process // nil while it is stopped

	command program.Command
}

func (s *signer) start() (err error) {
	s.Process, err = program.Start(s.command)
	return err
}

// stop ends the signer with a signal and returns when it is gone.
func (s *signer) stop(signal os.Signal) error {
	if s.Process == nil {
		return nil
	}
	defer func() { s.Process = nil }()
	return s.End(signal)
}

// useSigner gives the node's key to a signer, and starts the node without it.
func useSigner(ctx context.Context, st *stage) error {
	if err := st.stop(os.Interrupt); err != nil {
		return err
	}
	data, key := filepath.Join(st.dir, "signer"), filepath.Join(st.data, "protocol.key")
	var made struct{ Pin, Producer string }
	if err := st.asks(ctx, &made, "signer", "init", "--data-dir", data,
		"--genesis", filepath.Join(st.data, "genesis.json"), "--protocol-key", key); err != nil {
		return err
	}
	var known joined
	if err := st.asks(ctx, &known, "signer", "link", "--data-dir", st.data); err != nil {
		return err
	}
	if err := os.Remove(key); err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", st.firstPort+signerPort)
	st.signer = &signer{command: program.Command{
		Args: []string{
			st.settings.program, "signer", "run", "--data-dir", data, "--listen", address, "--client", known.Pin,
			"--admin-addr", "127.0.0.1:0",
		},
		Log: filepath.Join(st.dir, "signer.log"),
	}}
	if err := st.signer.start(); err != nil {
		return err
	}
	return st.start(ctx, "--signer", address, "--signer-pin", made.Pin, "--signer-producer", made.Producer)
}

// loseSigner kills the signer until ctx ends.
func loseSigner(ctx context.Context, st *stage) error {
	if err := st.signer.stop(os.Kill); err != nil {
		return err
	}
	return until(ctx, func(context.Context) error { return st.signer.start() })
}
