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

// Reasons for which the node refuses transactions, by their meaning for a sender: those in places mean that the nonce
// is wrong, and those in later that the request is valid and may be retried.
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

// reasonOf returns the reason in a node's error, or "" if err is nil or has none.
func reasonOf(err error) string {
	var refusal *client.Error
	if !errors.As(err, &refusal) {
		return ""
	}
	reason, _ := refusal.Data["reason"].(string)
	return reason
}

const (
	// tryAgain is the time until the same bytes are sent again, unless the node sets one.
	tryAgain = time.Second
	// longestWait bounds the wait that a node may ask for.
	longestWait = time.Hour
)

// retryAfter returns how long the node asks to wait.
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

// answer is the node's reply to a job's bytes. They were accepted or refused (then no node has them, and the nonce is
// free again); with neither, a node may have them. With misplaced, the local view of the account's nonces is wrong.
type answer struct {
	accepted  bool
	refused   error
	misplaced bool
}

// read interprets the node's reply to a job's bytes, and sets when they are due again.
func (j *job) read(hash types.TxID, err error, now time.Duration) answer {
	j.due = never
	if err == nil && hash == j.latest().hash {
		return answer{accepted: true}
	}
	if errors.Is(err, api.ErrAlreadyKnown) {
		if j.out {
			return answer{accepted: true}
		}
		// No node has had these bytes from here: another program has sent the same transaction, by the same account.
		return answer{refused: err, misplaced: true}
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
		j.out = true // unknown whether the node has the bytes
		j.due = now + tryAgain
		return answer{}
	}
	misplaced := slices.Contains(places, reason)
	if !j.out {
		return answer{refused: err, misplaced: misplaced}
	}
	// A node may have the bytes: keep the job until a block uses its nonce.
	if errors.Is(err, api.ErrNonceTooHigh) || errors.Is(err, api.ErrHeld) {
		j.due = now + tryAgain
	}
	return answer{misplaced: misplaced}
}
