package api

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRevertText bounds the revert data in an error's message, in bytes. The error's data has all of it.
const maxRevertText = 256

// FailureText describes the outcome of an execution for people: the words of reason (such as "out_of_gas", as in a
// receipt). If a contract reverted with printable text, it appends that text, such as "reverted: balance is too low".
func FailureText(reason string, revertData []byte) string {
	words, said := strings.ReplaceAll(reason, "_", " "), string(revertData)
	if reason != "reverted" || said == "" || len(said) > maxRevertText || !utf8.ValidString(said) ||
		strings.ContainsFunc(said, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return words
	}
	return words + ": " + said
}

// causes describes the causes of traps, except those that concern a length.
var causes = map[string]string{
	"memory":        "a range outside of the memory",
	"division":      "a division by zero, or one whose result has no room",
	"indirect_call": "an indirect call of no function, or of one of another type",
	"utf8":          "a name that is not UTF-8",
	"topics":        "an event of more than three topics",
}

// CauseText describes a trap's cause for people, such as "result size over 65536 bytes".
func CauseText(c *TrapCause) string {
	words := strings.ReplaceAll(c.Name, "_", " ")
	if c.Limit > 0 {
		return words + " over " + strconv.FormatUint(c.Limit, 10) + " bytes"
	}
	if text, ok := causes[c.Name]; ok {
		return text
	}
	return words
}

// PendingText formats a number of pending transactions.
func PendingText(count uint64) string {
	if count == 1 {
		return "1 pending transaction"
	}
	return strconv.FormatUint(count, 10) + " pending transactions"
}
