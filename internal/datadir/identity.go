package datadir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/secret"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/slots"
)

// The files that a cluster member has in its data directory in addition.
const (
	memberIDFile  = "member.id"
	memberKeyFile = "member.key"
	votesFile     = "vote.mark"
	joinFile      = "member.join"
	endedFile     = "member.ended" // the reason why the member must not run again
)

var (
	// ErrNoMember is returned for a data directory that belongs to no cluster.
	ErrNoMember = errors.New("this data directory does not belong to a cluster member")
	// ErrMember is returned for a directory that belongs to a cluster already.
	ErrMember = errors.New("this data directory already belongs to a cluster member")
	// ErrCopied is returned for a copy of a member's directory, which lacks the member's promises to the others since
	// it was made.
	ErrCopied = errors.New("this data directory is a copy of a cluster member's")
	// ErrEnded is returned for a directory whose member must not run again.
	ErrEnded = errors.New("this data directory must not run again")
)

// EndMember records that the directory's member must not run again, and the reason.
func (d *Dir) EndMember(reason string) error {
	return (kv.FS{}).WriteFile(d.file(endedFile), []byte(reason+"\n"))
}

// place is the content of a member's identity file: the member's id, the inode number and birth time of the file, and
// the number of starts of its node.
type place struct{ member, inode, born, boot uint64 }

const placeSize = 4 * 8

func (p place) encode() []byte {
	b := make([]byte, 0, placeSize)
	for _, n := range []uint64{p.member, p.inode, p.born, p.boot} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

func decodePlace(b []byte) place {
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return place{at(0), at(1), at(2), at(3)}
}

// laterPlace reports whether one record was written after another.
func laterPlace(record, than []byte) bool { return decodePlace(record).boot > decodePlace(than).boot }

// makeIdentity makes the key of a new member and the file that identifies its directory. It replaces the result of an
// attempt that failed.
func (d *Dir) makeIdentity() (p2p.Identity, error) {
	key, err := p2p.NewKey()
	if err != nil {
		return p2p.Identity{}, err
	}
	identity, err := p2p.ReadIdentity(key)
	if err != nil {
		return identity, err
	}
	if err := secret.Write(d.file(memberKeyFile), key); err != nil {
		return identity, err
	}
	path, member := d.file(memberIDFile), identity.Pin().Member()
	if err := slots.Create(kv.FS{}, path, place{member: member}.encode()); err != nil {
		return identity, err
	}
	inode, born, err := machine.FileIdentity(path)
	if err != nil {
		return identity, err
	}
	return identity, d.writePlace(place{member, inode, born, 1})
}

func (d *Dir) writePlace(p place) error {
	file, _, err := slots.Open(kv.FS{}, d.file(memberIDFile), placeSize, laterPlace)
	if err != nil {
		return err
	}
	return errors.Join(file.Write(p.encode()), file.Close())
}

// readPlace reads the identity file. It refuses a member that must not run again and a copied directory.
func (d *Dir) readPlace() (p place, err error) {
	path := d.file(memberIDFile)
	if reason, err := readBounded(d.file(endedFile), 4<<10); err == nil {
		return p, emergency.EndedMember(d.path, string(bytes.TrimSpace(reason)), ErrEnded)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	file, record, err := slots.Open(kv.FS{}, path, placeSize, laterPlace)
	member, _ := IsMember(d.path) // an error counts as no member
	switch {
	case errors.Is(err, slots.ErrDamaged), errors.Is(err, fs.ErrNotExist) && member:
		return p, emergency.DamagedPlace(path, err)
	case errors.Is(err, fs.ErrNotExist):
		return p, fmt.Errorf("%w: %s", ErrNoMember, d.path)
	}
	if err != nil {
		return p, err
	}
	p = decodePlace(record)
	if err := file.Close(); err != nil {
		return p, err
	}
	inode, born, err := machine.FileIdentity(path)
	if err != nil {
		return p, err
	}
	if inode != p.inode || born != p.born {
		return p, emergency.CopiedMember(d.path, ErrCopied)
	}
	return p, nil
}

// Identity returns the member's key and the number of its node's starts, including this one. Only the owner may have
// read access to the key's file.
func (d *Dir) Identity() (identity p2p.Identity, boot uint64, err error) {
	identity, p, err := d.readIdentity()
	if err != nil {
		return identity, 0, err
	}
	p.boot++
	return identity, p.boot, d.writePlace(p)
}

// readIdentity returns the member's key and the content of its identity file.
func (d *Dir) readIdentity() (identity p2p.Identity, p place, err error) {
	if p, err = d.readPlace(); err != nil {
		return identity, p, err
	}
	path := d.file(memberKeyFile)
	identity, err = readLinkKey(path)
	if got := identity.Pin().Member(); err == nil && got != p.member {
		err = fmt.Errorf("%w: the key belongs to member %x, but the directory belongs to member %x", errBadLinkKey, got, p.member)
	}
	if errors.Is(err, errBadLinkKey) || errors.Is(err, fs.ErrNotExist) {
		err = emergency.DamagedPlace(path, err)
	}
	return identity, p, err
}

// errBadLinkKey is returned for a file with no valid link key, or with another key than expected.
var errBadLinkKey = errors.New("the file has no key for this directory")

// readLinkKey reads the key with which members, or a node and its signer, authenticate each other.
func readLinkKey(path string) (identity p2p.Identity, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return identity, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return identity, emergency.Exposed(path)
	}
	key, err := readBounded(path, 1<<10)
	if err != nil {
		return identity, err
	}
	if identity, err = p2p.ReadIdentity(key); err != nil {
		err = fmt.Errorf("%w: %w", errBadLinkKey, err)
	}
	return identity, err
}

// IsMember reports whether a data directory belongs to a cluster member, or to a node that is about to join. One of the
// member's two files is enough, so a member that lost the other is still recognized.
func IsMember(path string) (bool, error) {
	if path == "" {
		return false, nil
	}
	for _, name := range []string{memberIDFile, votesFile} {
		if _, err := os.Stat((&Dir{path: path}).file(name)); !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}
