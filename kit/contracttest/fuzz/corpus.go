package fuzz

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/abi"
)

// kept is the format of a corpus file.
type kept struct {
	Seed  uint64 `json:"seed"` // of the search that found the sequence
	Moves []Move `json:"moves"`
}

// failures is the corpus subdirectory of failing sequences.
const failures = "failures"

// kept reads the corpus: failures first, then the others, by name.
func (s *search) kept() (sequences [][]Move) {
	if s.Corpus == "" {
		return nil
	}
	for _, dir := range []string{filepath.Join(s.Corpus, failures), s.Corpus} {
		files, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.world.T.Fatal(err)
		}
		for _, file := range files {
			if file.IsDir() || !strings.HasSuffix(file.Name(), ".json") {
				continue
			}
			moves, err := s.world.read(filepath.Join(dir, file.Name()))
			if err != nil {
				s.world.T.Logf("passed over: %v", err)
				continue
			}
			sequences = append(sequences, moves)
		}
	}
	return sequences
}

func (w *World) read(file string) ([]Move, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var k kept
	if err := errors.Join(decodeStrictly(bytes.NewReader(text), &k), abi.NoMemberTwice(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i := range k.Moves {
		if err := w.lift(&k.Moves[i]); err != nil {
			return nil, fmt.Errorf("%s: move %d: %w", file, i, err)
		}
	}
	return k.Moves, nil
}

// keep writes results to the corpus: failures and, after a search with a time limit, the sequences with new behaviour.
func (s *search) keep(found []*Failure) (err error) {
	if s.Corpus == "" {
		return nil
	}
	for _, failure := range found {
		var fault error
		failure.File, fault = write(filepath.Join(s.Corpus, failures), kept{s.Seed, failure.Moves})
		err = errors.Join(err, fault)
	}
	if s.until.IsZero() || err != nil {
		return err
	}
	files, err := os.ReadDir(s.Corpus)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, moves := range s.corpus[:min(len(s.corpus), max(maxFiles-len(files), 0))] {
		if _, err := write(s.Corpus, kept{s.Seed, moves}); err != nil {
			return err
		}
	}
	return nil
}

// maxFiles bounds the number of corpus files.
const maxFiles = 512

// write writes a sequence to a directory, in a file named by the hash of its moves, and returns the file name.
func write(dir string, k kept) (string, error) {
	moves, err := json.Marshal(k.Moves)
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(k, "", "\t")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	hash := sha256.Sum256(moves)
	file := filepath.Join(dir, fmt.Sprintf("%x.json", hash[:8]))
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return "", err
	}
	return file, nil
}

func decodeStrictly(r io.Reader, into any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	d.UseNumber()
	return d.Decode(into)
}

// parse parses consecutive JSON values as moves.
func (w *World) parse(text string) (moves []Move, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	for {
		var m Move
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return moves, abi.NoMemberTwice([]byte(text))
		} else if err != nil {
			return nil, err
		}
		if err := w.lift(&m); err != nil {
			return nil, fmt.Errorf("move %d: %w", len(moves), err)
		}
		moves = append(moves, m)
	}
}

// lift converts the values of a move decoded from JSON.
func (w *World) lift(m *Move) (err error) {
	if k, ok := w.contracts[m.To]; ok {
		f, _ := k.ABI.Function(m.Call)
		if m.Args, err = (lifter{k.ABI, w}).arguments(f.Args, m.Args); err != nil {
			return fmt.Errorf("%s.%s: %w", m.To, m.Call, err)
		}
	}
	for _, called := range sortedKeys(m.Script) {
		if w.adversary == nil {
			return errors.New("there is no adversary")
		}
		i := slices.IndexFunc(w.adversary.functions, func(f abi.Function) bool { return f.Name == called })
		if i < 0 {
			return fmt.Errorf("the adversary has no function %q", called)
		}
		act := m.Script[called]
		if returns := w.adversary.functions[i].Returns; act.Returns != nil {
			if act.Returns, err = (lifter{w.adversary.abi, w}).lift(returns, act.Returns); err != nil {
				return fmt.Errorf("%s: %w", called, err)
			}
		}
		for j := range act.Calls {
			if err := w.lift(&act.Calls[j]); err != nil {
				return err
			}
		}
		m.Script[called] = act
	}
	return nil
}
