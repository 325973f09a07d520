// Package argument parses what people write on the command line: amounts, accounts and blocks. Every error is a usage
// error of one sentence.
package argument
