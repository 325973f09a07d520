// Package show formats amounts, times, transactions and events for people.
package show

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/types"
)

// OneLine escapes line feeds and tabs in an untrusted name, which could fake another line of a table.
func OneLine(name string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(name)
}

// Readable formats data written by a contract: as text if printable, otherwise in hex.
func Readable(data []byte) string {
	if !Printable(data) {
		return api.Data(data).String()
	}
	return string(data)
}

// Printable reports whether data is UTF-8 that is shown as it is.
func Printable(data []byte) bool {
	return utf8.Valid(data) && strings.IndexFunc(string(data), func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// BlockTime formats a timestamp.
func BlockTime(seconds uint64) string { return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339) }

// MemoText formats a memo: text as it is, anything else in hex.
func MemoText(memo *api.Data) string {
	if memo == nil {
		return ""
	}
	return Readable(bytes.TrimRight(*memo, "\x00"))
}

// PolicyName names a policy by its hash; without one the account is its own authority.
func PolicyName(policy *types.Policy) string {
	if policy == nil {
		return OwnPolicy
	}
	return policy.Hash().String()
}

// OwnPolicy names the state in which an account is its own authority: its key, or the policy whose hash it is, signs.
const OwnPolicy = "own"

// MillisecondTime formats a time of the chain.
func MillisecondTime(ms uint64) string {
	if ms > types.MaxTime {
		return fmt.Sprintf("%d ms", ms)
	}
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02 15:04:05.000 UTC")
}

// Coins formats an amount.
func Coins[Q ~uint64](amount Q) string {
	if types.Amount(amount) == types.CoinUnits {
		return "1 coin"
	}
	return argument.FormatAmount(types.Amount(amount)) + " coins"
}

// PerGas formats a price.
func PerGas[Q ~uint64](price Q) string {
	if price == 1 {
		return "1 unit per gas"
	}
	return strconv.FormatUint(uint64(price), 10) + " units per gas"
}
