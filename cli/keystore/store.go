package keystore

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/cairn-chain/cairn/types"
)

// Errors of keystore operations, returned wrapped.
var (
	ErrBadName       = errors.New("bad name")
	ErrNotFound      = errors.New("no such key or alias")
	ErrExists        = errors.New("the name is already in use")
	ErrWrongPassword = errors.New("wrong password")
	ErrEmptyPassword = errors.New("the password is empty")
	ErrDamaged       = errors.New("the file is damaged")
	ErrNoKey         = errors.New("aliases and policies have no private key")
	ErrNoDirectory   = errors.New("HOME is not set, so there is no keystore directory: give --home")
)

const (
	suffix = ".json"
	// maxFileBytes bounds the size of a file: a key's file has about 1 KiB.
	maxFileBytes = 64 << 10
	// defaultWorkFactor makes scrypt take about a second and 256 MiB (2^18 blocks of 1 KiB), as in the age tool.
	defaultWorkFactor = 18
)

// Store is a directory of keys and aliases. The directory is created with mode 0700 when the first entry is added.
type Store struct {
	dir string
	// WorkFactor is the base-2 logarithm of scrypt's cost for new keys, 1 to 22.
	WorkFactor int
}

// Open returns the keystore in a directory, which need not exist. If dir is empty, every method fails with
// [ErrNoDirectory].
func Open(dir string) *Store { return &Store{dir: dir, WorkFactor: defaultWorkFactor} }

// Dir returns the keystore's directory.
func (s *Store) Dir() string { return s.dir }

// AddKey stores a key under an unused name, encrypted under the password, which must not be empty.
func (s *Store) AddKey(name string, network types.Network, secret Secret, password string) (Entry, error) {
	if password == "" {
		return Entry{}, ErrEmptyPassword
	}
	plaintext, err := secret.encode()
	if err != nil {
		return Entry{}, err
	}
	sealed, err := seal(plaintext, password, s.WorkFactor)
	if err != nil {
		return Entry{}, err
	}
	entry := Entry{Name: name, Kind: KindKey, Network: network, Path: secret.Path}
	if secret.P256 == nil {
		entry.Account = secret.Key.PublicKey()
	} else {
		policy, err := policyOf(secret.P256)
		if err != nil {
			return Entry{}, err
		}
		entry.Kind, entry.Account, entry.Policy = KindP256, policy.Hash(), hex.EncodeToString(policy.Encode())
	}
	return entry, s.add(document{Version: formatVersion, Entry: entry, Secret: sealed})
}

// AddPolicy stores a policy under an unused name, for its account on a network.
func (s *Store) AddPolicy(name string, network types.Network, policy types.Policy) (Entry, error) {
	if err := policy.Check(); err != nil {
		return Entry{}, err
	}
	entry := Entry{
		Name: name, Kind: KindPolicy, Account: policy.Hash(), Network: network, Policy: hex.EncodeToString(policy.Encode()),
	}
	return entry, s.add(document{Version: formatVersion, Entry: entry})
}

// AddAlias adds an unused name for an account of a network.
func (s *Store) AddAlias(name string, network types.Network, account types.Account) (Entry, error) {
	entry := Entry{Name: name, Kind: KindAlias, Account: account, Network: network}
	return entry, s.add(document{Version: formatVersion, Entry: entry})
}

// AddContract adds a name for a contract of a chain. The name must be unused or belong to a contract of another chain,
// as a development chain that starts again has lost its contracts.
func (s *Store) AddContract(name string, network types.Network, chain Chain, id types.ContractID) (Entry, error) {
	if old, err := s.Find(name); err == nil && old.Chain != nil && *old.Chain != chain {
		if err := s.Delete(name); err != nil {
			return Entry{}, err
		}
	}
	entry := Entry{Name: name, Kind: KindAlias, Account: types.Account(id), Network: network, Chain: &chain}
	return entry, s.add(document{Version: formatVersion, Entry: entry})
}

// Find returns the entry of a name. The error wraps [ErrBadName], [ErrNotFound] or [ErrDamaged].
func (s *Store) Find(name string) (Entry, error) {
	d, err := s.read(name)
	return d.Entry, err
}

// Unlock decrypts a key and checks that it matches the public part of its file, which the password does not protect.
// The error wraps [ErrWrongPassword], [ErrNoKey], or an error of [Store.Find].
func (s *Store) Unlock(name, password string) (Secret, error) {
	d, err := s.read(name)
	if err != nil {
		return Secret{}, err
	}
	if !d.Kind.HasSecret() {
		return Secret{}, fmt.Errorf("%w: %s", ErrNoKey, name)
	}
	plaintext, err := open(d.Secret, password)
	if errors.Is(err, ErrWrongPassword) {
		return Secret{}, fmt.Errorf("%w for the key %s", ErrWrongPassword, name)
	}
	if err != nil {
		return Secret{}, damaged(s.path(name), err)
	}
	secret, err := decodeSecret(plaintext)
	if err != nil {
		return Secret{}, damaged(s.path(name), err)
	}
	if account, err := secret.account(); err != nil || account != d.Account || secret.Path != d.Path {
		return Secret{}, damaged(s.path(name), errors.New("its private key belongs to another account"))
	}
	return secret, nil
}

// List returns all entries by name, and the errors of unreadable and damaged files.
func (s *Store) List() (entries []Entry, failures []error, err error) {
	if s.dir == "" {
		return nil, nil, ErrNoDirectory
	}
	files, err := os.ReadDir(s.dir) // sorted by name
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), suffix)
		if !ok || CheckName(name) != nil {
			continue
		}
		entry, err := s.Find(name)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		entries = append(entries, entry)
	}
	return entries, failures, nil
}

// Delete permanently removes an entry. It also removes a damaged one.
func (s *Store) Delete(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if s.dir == "" {
		return ErrNoDirectory
	}
	if err := os.Remove(s.path(name)); err != nil {
		return s.notFound(name, err)
	}
	return syncDirectory(s.dir)
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name+suffix) }

func (s *Store) notFound(name string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	return err
}

func damaged(path string, err error) error { return fmt.Errorf("%w: %s: %w", ErrDamaged, path, err) }

func (s *Store) read(name string) (document, error) {
	if err := CheckName(name); err != nil {
		return document{}, err
	}
	if s.dir == "" {
		return document{}, ErrNoDirectory
	}
	file, err := os.Open(s.path(name))
	if err != nil {
		return document{}, s.notFound(name, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	if err != nil {
		return document{}, err
	}
	d, err := decodeDocument(text, name)
	if err != nil {
		return document{}, damaged(s.path(name), err)
	}
	return d, nil
}

// add writes a document under its name and never replaces one. It writes and syncs a temporary file, then links it to
// the name, which fails if the name exists.
func (s *Store) add(d document) error {
	if err := CheckName(d.Name); err != nil {
		return err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	temporary, err := writeTemporary(s.dir, append(text, '\n'))
	if err != nil {
		return err
	}
	err = os.Link(temporary, s.path(d.Name))
	if errors.Is(err, os.ErrExist) {
		err = fmt.Errorf("%w: %s", ErrExists, d.Name)
	}
	if err := errors.Join(err, os.Remove(temporary)); err != nil {
		return err
	}
	return syncDirectory(s.dir)
}

// writeTemporary writes and syncs a file of mode 0600 and returns its path.
func writeTemporary(dir string, text []byte) (path string, err error) {
	file, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	return file.Name(), errors.Join(err, file.Close())
}

// syncDirectory makes the creation or removal of a file durable.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// seal encrypts plaintext under a password into an armored age file.
func seal(plaintext []byte, password string, workFactor int) (string, error) {
	recipient, err := age.NewScryptRecipient(password)
	if err != nil {
		return "", err
	}
	recipient.SetWorkFactor(workFactor)
	var sealed bytes.Buffer
	armored := armor.NewWriter(&sealed)
	writer, err := age.Encrypt(armored, recipient)
	if err != nil {
		return "", err
	}
	if _, err := writer.Write(plaintext); err != nil {
		return "", err
	}
	if err := errors.Join(writer.Close(), armored.Close()); err != nil {
		return "", err
	}
	return sealed.String(), nil
}

// open decrypts the result of seal. The error is [ErrWrongPassword] or describes the damage of the text.
func open(sealed, password string) ([]byte, error) {
	if password == "" {
		return nil, ErrWrongPassword
	}
	identity, err := age.NewScryptIdentity(password)
	if err != nil {
		return nil, err
	}
	reader, err := age.Decrypt(armor.NewReader(strings.NewReader(sealed)), identity)
	if errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, ErrWrongPassword
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
