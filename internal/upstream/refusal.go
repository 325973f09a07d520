package upstream

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// refused converts an error that the node returned into a [replica.Refusal], and an untrusted certificate or a missing
// key into a fault. It returns other errors unchanged.
func refused(err error) error {
	if answer := answerIn(err); answer != nil {
		return &replica.Refusal{Why: kindOf(answer), Err: err}
	}
	var certificate *tls.CertificateVerificationError
	var status *client.StatusError
	switch {
	case errors.As(err, &certificate):
		return replica.Faulty(replica.Untrusted, "its certificate is not trusted (%w)", certificate)
	case errors.As(err, &status) && status.Status == http.StatusUnauthorized:
		return replica.Faulty(replica.Unauthorized, "it requires an API key or JWT (%w)", status)
	}
	return err
}

// isPruned reports whether a node refused blocks because it has pruned them.
func isPruned(err error) bool {
	var status *client.StatusError
	return errors.As(err, &status) && status.Status == http.StatusNotFound && strings.Contains(status.Message, "pruned")
}

// notServed is like refused, for downloads: 404 means that the node does not have the file.
func notServed(err error) error {
	if status, ok := errors.AsType[*client.StatusError](err); ok && status.Status == http.StatusNotFound {
		return &replica.Refusal{Why: replica.RefusedForGood, Err: err}
	}
	return refused(err)
}

// answerIn returns the error in err that the node returned, or nil.
func answerIn(err error) *client.Error {
	var answer *client.Error
	_ = errors.As(err, &answer) // answer stays nil
	return answer
}

func kindOf(answer *client.Error) replica.RefusalKind {
	switch {
	case errors.Is(answer, api.ErrAlreadyKnown):
		return replica.RefusedKnown
	case errors.Is(answer, api.ErrNonceTooLow):
		return replica.RefusedUsed
	case errors.Is(answer, api.ErrAboveHead):
		return replica.RefusedEarly
	case answer.Code == jsonrpc.CodeLimit:
		return replica.RefusedBusy
	case answer.Code == jsonrpc.CodeInternal:
		return replica.RefusedFailed
	case answer.Code == api.CodeMempoolFull:
		return replica.RefusedFull
	case answer.Code == api.CodeReadOnly:
		return replica.RefusedReadOnly
	}
	return replica.RefusedForGood
}

// newNoProof converts a node's answer that it does not have a proof.
func newNoProof(h types.Height, answer *client.Error) *replica.NoProof {
	oldest, ok := heightIn(answer.Data["oldest"])
	newest, also := heightIn(answer.Data["newest"])
	return &replica.NoProof{Height: h, Stored: ok && also, Oldest: oldest, Newest: newest}
}

func heightIn(value any) (types.Height, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	h, err := strconv.ParseUint(number.String(), 10, 64)
	return types.Height(h), err == nil
}

// unverifiedReceipt converts a receipt from a node's answer. It returns client.ErrBadAnswer for one that execution
// cannot produce.
func unverifiedReceipt(answer *api.Receipt) (*replica.UnverifiedReceipt, error) {
	words, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	if answer.Status > api.Quantity(types.StatusSuccess) {
		return nil, fmt.Errorf("%w: a receipt of the status %s", client.ErrBadAnswer, answer.Status)
	}
	r := &replica.UnverifiedReceipt{Raw: words, Receipt: types.Receipt{
		Status:   types.ReceiptStatus(answer.Status),
		GasUsed:  types.Gas(answer.GasUsed),
		Contract: answer.ContractAddress,
		Output:   answer.ReturnData,
		Logs:     make([]types.Log, len(answer.Logs)),
	}}
	for i, l := range answer.Logs {
		r.Logs[i] = types.Log{Contract: l.Address, Name: l.EventName, Data: l.Data}
		if len(l.Topics) == 0 {
			return nil, fmt.Errorf("%w: an event lacks the digest of its name", client.ErrBadAnswer)
		}
		for _, topic := range l.Topics[1:] { // the first topic is the name's digest
			if len(topic) != 32 {
				return nil, fmt.Errorf("%w: a topic of %d bytes", client.ErrBadAnswer, len(topic))
			}
			r.Logs[i].Topics = append(r.Logs[i].Topics, [32]byte(topic))
		}
	}
	return r, nil
}
