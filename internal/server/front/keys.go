package front

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/cairn-chain/cairn/internal/secret"
)

// minKeySize is the least length in bytes of an API key or JWT secret; a shorter one could be guessed.
const minKeySize = 16

// A key is one line of the file of API keys.
type key struct {
	name string
	rate Rate // for all users of the key together; 0: their addresses are limited as usual

	mu     sync.Mutex
	bucket bucket
}

// keys maps the SHA-256 of each secret to its API key. The time of looking up a digest reveals nothing about the
// secrets: an attacker cannot choose digests.
type keys map[[sha256.Size]byte]*key

// readKeys reads a file of API keys, each a line `name:key` or `name:sha256:digest`. After a space, `rate=N` may give
// the key a limit of its own: N calls a second and 2N at once. Empty lines and lines that begin with # are skipped.
func readKeys(file string) (keys, error) {
	content, err := secret.Read(file)
	if err != nil {
		return nil, err
	}
	all := keys{}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		k, digest, err := parseKey(line)
		if err == nil && all[digest] != nil {
			err = errors.New("duplicate key")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", file, number, err)
		}
		all[digest] = k
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s contains no keys", file)
	}
	return all, nil
}

func parseKey(line string) (*key, [sha256.Size]byte, error) {
	fields := strings.Fields(line)
	name, text, ok := strings.Cut(fields[0], ":")
	if !ok || name == "" || len(fields) > 2 {
		return nil, [32]byte{}, errors.New("a line must be name:key, optionally followed by a space and rate=N")
	}
	k := &key{name: name}
	if len(fields) == 2 {
		number, ok := strings.CutPrefix(fields[1], "rate=")
		rate, err := strconv.ParseFloat(number, 64)
		if !ok || err != nil || !(rate >= 1) || math.IsInf(rate, 1) {
			return nil, [32]byte{}, errors.New("the key may only be followed by rate=N with N of at least 1")
		}
		k.rate = Rate{PerSecond: rate, Burst: 2 * rate}
	}
	if digits, ok := strings.CutPrefix(text, "sha256:"); ok {
		digest, err := hex.DecodeString(digits)
		if err != nil || len(digest) != sha256.Size {
			return nil, [32]byte{}, errors.New("sha256: must be followed by 64 hex digits")
		}
		return k, [32]byte(digest), nil
	}
	if len(text) < minKeySize {
		return nil, [32]byte{}, fmt.Errorf("the key has fewer than %d characters", minKeySize)
	}
	return k, sha256.Sum256([]byte(text)), nil
}

// take takes cost calls from the key's own rate.
func (k *key) take(now time.Time, cost float64) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bucket.take(k.rate, now, cost)
}

func (k *key) spend(cost float64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bucket.spend(cost)
}

// readJWTSecret reads the secret for HS256 tokens.
func readJWTSecret(file string) ([]byte, error) {
	key, err := secret.ReadHex(file)
	return key[:], err
}

// issuedWithin bounds the distance between now and the issue time of a token without an expiry.
const issuedWithin = time.Minute

// checkJWT reports whether a token (RFC 7519) is signed with the key (HS256) and current: not expired or, if it has no
// expiry, issued within a minute of now.
func checkJWT(token string, key []byte, now func() time.Time) bool {
	var claims jwt.RegisteredClaims
	find := func(t *jwt.Token) (any, error) {
		if _, ok := t.Header["crit"]; ok {
			return nil, jwt.ErrTokenUnverifiable // it needs an unsupported extension (RFC 7515, 4.1.11)
		}
		return key, nil
	}
	_, err := jwt.ParseWithClaims(token, &claims, find,
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithTimeFunc(now))
	switch {
	case err != nil:
		return false
	case claims.ExpiresAt != nil:
		return true
	case claims.IssuedAt == nil:
		return false
	}
	return now().Sub(claims.IssuedAt.Time).Abs() <= issuedWithin
}
