// Package keystore stores private keys, each encrypted under a passphrase, and names for accounts in a directory.
//
// Each name has one file, NAME.json with mode 0600. Public data is plain JSON, so a key can be listed and paid without
// its passphrase. A key's secret is an armored age file (https://age-encryption.org/v1) with a scrypt recipient. Files
// are created and replaced atomically.
package keystore
