package operator

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/types"
)

// The start checks cover everything that a start depends on: the disk, the database and its format, the genesis, the
// producer's key and its sign state, and the clock. They change nothing. The doctor shows all of their results, and a
// node refuses to start on a problem.

// place is the content of a data directory, or the error of reading it.
type place struct {
	datadir.Found
	err error
}

// lookAt inspects a data directory for a node with these settings.
func lookAt(s nodeSettings) place {
	var key *types.PublicKey
	member, err := datadir.IsMember(s.DataDir)
	if err == nil && !member && s.Signer == "" && s.hasKey() {
		if k, err := datadir.ReadProtocolKey(s.keyPath()); err == nil { // checkKey reports an error
			key = new(types.PublicKey(k.PublicKey()))
		}
	}
	found, err := datadir.Look(s.DataDir, key, s.lockDir())
	return place{found, err}
}

// lockDir returns the directory of the producer key's sign state.
func (s nodeSettings) lockDir() string { return cmp.Or(s.LockDir, filepath.Dir(s.keyPath())) }

// hasKey reports whether the node needs the producer's key.
func (s nodeSettings) hasKey() bool { return s.ProtocolKey != "" || s.Mode == string(api.ModePrimary) }

// startChecks runs the start checks.
func startChecks(s nodeSettings, here place) []finding {
	findings := []finding{checkDisk(s.DataDir), checkDatabase(here)}
	if f := checkGenesis(s, here); f != nil {
		findings = append(findings, *f)
	}
	if f := checkKey(s, here); f != nil {
		findings = append(findings, *f)
	}
	if here.Genesis != nil {
		findings = append(findings, checkClock(here, time.Now()))
		if s.Override != "" {
			findings = append(findings, checkOverride(s.Override, here.Genesis.Network))
		}
	}
	return findings
}

func checkOverride(text string, network types.Network) finding {
	const check = "override"
	o, err := datadir.ReadOverride(text, network)
	if err != nil {
		return problem(check, err, "")
	}
	return finding{Check: check, State: stateOK, Detail: fmt.Sprintf("parameters from block %d on", o.Height)}
}

// refusal returns the problems that prevent a start as an error, or nil.
func refusal(findings []finding) error {
	var errs []error
	for _, f := range findings {
		if f.State == stateProblem {
			errs = append(errs, cmp.Or(f.err, errors.New(f.Detail+". "+f.Advice)))
		}
	}
	return errors.Join(errs...)
}

// problem makes a finding from an error. The advice of an emergency takes precedence over the given one.
func problem(check string, err error, advice string) finding {
	if e, ok := errors.AsType[*emergency.Emergency](err); ok {
		return finding{Check: check, State: stateProblem, Detail: e.What + ": " + e.Lost, Advice: e.Next, err: err}
	}
	return finding{Check: check, State: stateProblem, Detail: err.Error(), Advice: advice, err: err}
}

// With less free space than fullDisk a node ends before it can make a block. minFreeDisk is enough for a day of a busy
// chain.
const (
	fullDisk    = 1 << 20
	minFreeDisk = 20 << 30
)

func checkDisk(dir string) finding {
	_, free, err := machine.Disk(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, machine.ErrUnknown):
		return finding{Check: "disk", State: stateOK, Detail: "the free space is not known yet"}
	case err != nil:
		return problem("disk", err, "check the directory's permissions")
	case free < fullDisk:
		return problem("disk", emergency.DiskFull(dir, nil), "")
	}
	f := finding{Check: "disk", State: stateOK, Detail: fmt.Sprintf("%d GiB free", free>>30)}
	if free < minFreeDisk {
		f.State, f.Advice = stateWarning, "free up space: a full disk stops the node (no block is lost)"
	}
	return f
}

func checkDatabase(here place) finding {
	const check = "database"
	switch {
	case errors.Is(here.err, datadir.ErrLocked):
		return finding{Check: check, State: stateOK, Detail: "in use by a running node"}
	case here.err != nil:
		return problem(check, here.err, "run `cairn db check` to find the damage, then restore a copy")
	case here.Genesis == nil:
		return finding{Check: check, State: stateOK, Detail: "no chain yet"}
	}
	return finding{Check: check, State: stateOK, Detail: fmt.Sprintf(
		"chain id %d, %s, block %d", here.Genesis.ChainID, here.Genesis.Network, here.Head.Height,
	)}
}

// checkGenesis compares the genesis file with the chain in the directory. It returns nil if there is no file.
func checkGenesis(s nodeSettings, here place) *finding {
	const check = "genesis"
	path := orIn(s.DataDir, s.Genesis, datadir.GenesisFile)
	if !exists(path) {
		return nil
	}
	var wanted *types.BlockHash
	if here.Genesis != nil {
		wanted = &here.Hash
	} else if hash, err := s.genesisHash(); err == nil {
		wanted = hash
	}
	genesis, err := datadir.ReadGenesis(path, s.DataDir, wanted)
	if err != nil {
		f := problem(check, err, "")
		if (here.Genesis != nil || here.err != nil) && s.Genesis == "" { // the chain does not need the file
			f.State = stateWarning
		}
		return &f
	}
	hash, err := datadir.GenesisHash(genesis)
	if err == nil && wanted != nil && *wanted != hash && here.Genesis != nil {
		err = emergency.OtherGenesis(s.DataDir, wanted.String(), hash.String(), datadir.ErrOtherGenesis)
	}
	if err != nil {
		return new(problem(check, err, ""))
	}
	return &finding{Check: check, State: stateOK, Detail: "hash " + hash.String()}
}

// checkKey reads the producer's key and compares the chain with the key's sign state. A producing node of a network
// must have a key, and for a follower or a member it is optional. The directory of a development chain has neither a
// key file nor settings.
func checkKey(s nodeSettings, here place) *finding {
	const check = "producer's key"
	if s.Signer != "" {
		if _, err := s.client(s.DataDir); err != nil {
			return new(problem(check, err, "docs/cluster.md explains how a node and its signer authenticate each other"))
		}
		return &finding{Check: check, State: stateOK, Detail: "at the signer " + s.Signer}
	}
	path := s.keyPath()
	member, err := datadir.IsMember(s.DataDir)
	network := exists(filepath.Join(s.DataDir, datadir.SettingsFile)) ||
		exists(orIn(s.DataDir, s.Genesis, datadir.GenesisFile))
	if err == nil && !exists(path) && s.ProtocolKey == "" && (member || !network || !s.hasKey()) || !s.hasKey() {
		return nil
	}
	key, err := datadir.ReadProtocolKey(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return new(problem(check, s.noKey(path), ""))
	case err != nil:
		return new(problem(check, emergency.BadKey(path, err.Error(), err), ""))
	case here.Record != nil:
		return new(problem(check, here.Record, ""))
	case here.Lost != nil && len(s.Upstream) == 0:
		return new(problem(check, here.Lost, ""))
	}
	producer := here.Producer
	if here.Genesis == nil {
		if genesis, err := datadir.ReadGenesis(
			orIn(s.DataDir, s.Genesis, datadir.GenesisFile), s.DataDir, nil,
		); err == nil {
			producer = genesis.Parameters.Producer
		}
	}
	if s.Mode == string(api.ModePrimary) && producer != (types.PublicKey{}) && producer != key.PublicKey() {
		return &finding{
			Check: check, State: stateWarning,
			Detail: fmt.Sprintf("the key belongs to %s, but the producer is %s",
				types.Account(key.PublicKey()), types.Account(producer)),
			Advice: "expected during a handover of production; otherwise this node produces no blocks",
		}
	}
	return &finding{Check: check, State: stateOK, Detail: "of " + types.Account(key.PublicKey()).String()}
}

// clockSlack is the tolerated lag of the clock behind the newest block.
const clockSlack = 15 * time.Second

// checkClock compares the clock with the newest block. A slow clock is only a warning: blocks repeat the last
// timestamp, or replicas wait.
func checkClock(here place, now time.Time) finding {
	newest := time.UnixMilli(int64(max(here.Head.Timestamp, here.Genesis.Time)))
	behind := newest.Sub(now).Round(time.Second)
	if behind <= clockSlack {
		return finding{Check: "clock", State: stateOK, Detail: "not behind the newest block"}
	}
	return finding{
		Check: "clock", State: stateWarning,
		Detail: fmt.Sprintf("the clock is %s behind the newest block, of %s", behind, newest.UTC().Format(time.RFC3339)),
		Advice: "correct the clock, and synchronize it with NTP (see `timedatectl`)",
	}
}

// exists reports whether path exists, readable or not.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// shareFiles divides the process's open-file limit between the database and the public address. It lowers the limit of
// connections, with a warning, if too few files remain for the setting. It returns an error with the needed limit if a
// node cannot run.
func shareFiles(options *datadir.Options, serving *node.Serving, log *slog.Logger) error {
	files, err := machine.ShareFiles()
	if errors.Is(err, machine.ErrUnknown) {
		return nil
	}
	if err != nil {
		return output.Usage(err)
	}
	options.Database.OpenTables, serving.FileReads = files.Database, files.Served
	if wanted := serving.HTTP.MaxConnections; files.Public < wanted {
		log.Warn("the open-file limit is too low for --max-connections: accepting fewer connections; raise the limit "+
			"(ulimit -n, or LimitNOFILE in the systemd unit)",
			"connections", files.Public, "max-connections", wanted, "limit", files.Limit, "needed", machine.FilesFor(wanted))
		serving.HTTP.MaxConnections = files.Public
	}
	return nil
}

// checkFiles reports the number of connections that the open-file limit allows.
func checkFiles(s httpSettings) finding {
	const check = "open files"
	files, err := machine.ShareFiles()
	switch {
	case errors.Is(err, machine.ErrUnknown):
		return finding{Check: check, State: stateWarning, Detail: "the limit is " + err.Error()}
	case err != nil:
		return problem(check, err, "raise the limit where the node is started")
	}
	f := finding{
		Check: check, State: stateOK,
		Detail: fmt.Sprintf("limit %d, which leaves %d for JSON-RPC connections", files.Limit, files.Public),
	}
	if wanted := int(s.MaxConnections); files.Public < wanted {
		f.State, f.Advice = stateWarning, fmt.Sprintf("--max-connections is %d: raise the hard limit to %d (ulimit -n, or "+
			"LimitNOFILE in the systemd unit), or accept fewer", wanted, machine.FilesFor(wanted))
	}
	return f
}
