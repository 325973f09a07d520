package sender

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// Reasons that the node refuses with, by what they mean to a sender. Places say that a nonce is not what it was taken
// for, and later that nothing is wrong with what was asked.
var (
	places = []string{
		reasonOf(api.ErrNonceTooLow), reasonOf(api.ErrNonceTooHigh), reasonOf(api.ErrHeld),
		reasonOf(api.ErrReplacementUnderpriced),
	}
	later = []string{
		reasonOf(api.ErrMempoolFull), reasonOf(api.ErrNotWritten), "rate", reasonOf(api.ErrBusy),
		reasonOf(api.ErrRequestGas),
	}
)

// reasonOf is the word for programs in a node's error; empty where err is none, or has none.
func reasonOf(err error) string {
	var refusal *client.Error
	if !errors.As(err, &refusal) {
		return ""
	}
	reason, _ := refusal.Data["reason"].(string)
	return reason
}

const (
	// tryAgain is the time until the same bytes are sent again, where the node does not say.
	tryAgain = time.Second
	// longestWait is the most that a node is believed that asks to wait.
	longestWait = time.Hour
)

// retryAfter is how long the node asks to wait.
func retryAfter(err error) time.Duration {
	var refusal *client.Error
	if !errors.As(err, &refusal) {
		return tryAgain
	}
	number, is := refusal.Data["retryAfterSeconds"].(json.Number)
	seconds, bad := strconv.ParseUint(string(number), 10, 31)
	if !is || bad != nil {
		return tryAgain
	}
	return min(time.Duration(seconds)*time.Second, longestWait)
}

// answer is what the node said of a job's bytes: accepted, or refused, which means that they are with nobody and leave
// their nonce; neither where somebody may have them. Misplaced: the account's nonces are not what they were taken for.
type answer struct {
	accepted  bool
	refused   error
	misplaced bool
}

// read tells what the node's answer to a job's bytes means, and sets when they are due again.
func (j *job) read(hash types.TxID, err error, now time.Duration) answer {
	j.due = never
	if err == nil && hash == j.latest().hash || errors.Is(err, api.ErrAlreadyKnown) {
		return answer{accepted: true}
	}
	reason := reasonOf(err)
	switch {
	case untaken(err):
		j.due = now + tryAgain
		return answer{}
	case slices.Contains(later, reason):
		j.due = now + retryAfter(err)
		return answer{}
	case reason == "", reason == reasonOf(api.ErrNoPrimary), reason == reasonOf(api.ErrTimeUp):
		j.out = true // no word on whether it has the bytes
		j.due = now + tryAgain
		return answer{}
	}
	misplaced := slices.Contains(places, reason)
	if !j.out {
		return answer{refused: err, misplaced: misplaced}
	}
	// Its bytes may be with somebody: it stays until a block uses the nonce.
	if errors.Is(err, api.ErrNonceTooHigh) || errors.Is(err, api.ErrHeld) {
		j.due = now + tryAgain
	}
	return answer{misplaced: misplaced}
}
