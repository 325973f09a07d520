package contract

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
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

func verifiedFile(s *session.Session, code []byte) string {
	return filepath.Join(s.Home, verifiedDir, contractsource.HashOf(code).String()+".json")
}

// keepVerified records that a source compiles to a code.
func keepVerified(s *session.Session, code []byte, v verifiedContract) error {
	text, err := json.Marshal(verifiedRecord{v.SourceHash.String(), v.Toolchain})
	if err != nil {
		return err
	}
	if s.Home == "" {
		return keystore.ErrNoDirectory
	}
	file := verifiedFile(s, code)
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
func sourceOf(s *session.Session, code []byte) (contractSource, error) {
	var source contractSource
	if hash, ok := contractbuild.SourceOf(code); ok {
		source.Claimed = hash.String()
	}
	if s.Home == "" {
		return source, nil
	}
	text, err := os.ReadFile(verifiedFile(s, code))
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
