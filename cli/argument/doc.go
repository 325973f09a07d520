// Package argument parses what people write on the command line: amounts, accounts and blocks. Every error is wrong
// usage and one sentence.
package argument
