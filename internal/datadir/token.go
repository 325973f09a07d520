package datadir

import (
	"crypto/rand"
	"encoding/hex"
	"os"

	"github.com/cairn-chain/cairn/internal/secret"
)

// AdminToken returns the path of the file with the token of the node's admin address: 32 random bytes in hex. It makes
// the file if there is none, and replaces one that others may read or that a crash cut short. In memory the file is
// temporary and Close removes it.
func (d *Dir) AdminToken() (path string, err error) {
	if d.token != "" {
		return d.token, nil
	}
	path = d.file(AdminTokenFile)
	if path == "" {
		file, err := os.CreateTemp("", "cairn-*.token")
		if err != nil {
			return "", err
		}
		path, d.token = file.Name(), file.Name()
		if err := file.Close(); err != nil {
			return "", err
		}
	} else if _, err := secret.ReadHex(path); err == nil {
		return path, nil
	}
	var token [secret.Size]byte
	_, _ = rand.Read(token[:]) // never fails (crypto/rand)
	return path, secret.Write(path, []byte(hex.EncodeToString(token[:])+"\n"))
}
