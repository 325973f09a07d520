package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/kit/contractbuild"
)

// verifiedDir is the subdirectory of the home directory with this user's verifications, by code hash.
const verifiedDir = "verified"

// verifiedRecord is a stored verification of a code. It applies to every contract with that code.
type verifiedRecord struct {
	SourceHash string            `json:"sourceHash"`
	Toolchain  map[string]string `json:"toolchain"`
}

// contractSource describes the known source of a contract.
type contractSource struct {
	Claimed  string          `json:"claimed,omitempty"`  // hash that the code claims, which is not proof
	Verified *verifiedRecord `json:"verified,omitempty"` // this user's verification
}

func (s *session) verifiedFile(code []byte) string {
	return filepath.Join(s.home, verifiedDir, contractsource.HashOf(code).String()+".json")
}

// keepVerified records that a source compiles to a code.
func (s *session) keepVerified(code []byte, v verifiedContract) error {
	text, err := json.Marshal(verifiedRecord{v.SourceHash.String(), v.Toolchain})
	if err != nil {
		return err
	}
	if s.home == "" {
		return keystore.ErrNoDirectory
	}
	file := s.verifiedFile(code)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	part := file + ".part" // written to a temporary file first, as the command may be killed
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	return os.Rename(part, file)
}

// sourceOf returns the known source of a code.
func (s *session) sourceOf(code []byte) (contractSource, error) {
	var source contractSource
	if hash, ok := contractbuild.SourceOf(code); ok {
		source.Claimed = hash.String()
	}
	if s.home == "" {
		return source, nil
	}
	text, err := os.ReadFile(s.verifiedFile(code))
	if errors.Is(err, fs.ErrNotExist) {
		return source, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &source.Verified)
	}
	return source, err
}

// field formats it as one line.
func (c contractSource) field() output.Field {
	text := "not in the code"
	switch {
	case c.Verified != nil:
		text = c.Verified.SourceHash + ", verified here"
	case c.Claimed != "":
		text = c.Claimed + ", not verified: cairn contract verify"
	}
	return output.Field{Name: "Source", Value: text}
}
