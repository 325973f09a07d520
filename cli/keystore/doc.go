// Package keystore keeps private keys in a directory, each encrypted under a passphrase, and names for accounts.
//
// One file a name, NAME.json of mode 0600. What is public is plain JSON, so that a key can be listed and paid to
// without its passphrase. A key's secret is an armored age file (https://age-encryption.org/v1) with a scrypt
// recipient. Files appear and change whole or not at all.
package keystore
