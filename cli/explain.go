package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/client"
)

// explained is an error with another text.
type explained struct {
	text  string
	cause error
}

func (e explained) Error() string { return e.text }

func (e explained) Unwrap() error { return e.cause }

// explain says in one sentence what went wrong on the way to the node. What the node answered speaks for itself.
func (s *session) explain(ctx context.Context, err error) error {
	var done explained
	var answer *client.Error
	var status *client.StatusError
	var transport *url.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &done):
		return err
	case errors.Is(err, keystore.ErrNoDirectory):
		return output.Usage(err)
	case errors.Is(err, api.ErrCannotPay):
		return inCoins(err)
	case errors.As(err, &answer):
		return err
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case errors.As(err, &status):
		return explained{fmt.Sprintf("the node at %s refuses the request: %s", s.settings.RPCURL, status), err}
	case errors.Is(err, client.ErrUnreachable) && errors.Is(err, context.DeadlineExceeded):
		return explained{fmt.Sprintf("the node at %s did not answer within %s", s.settings.RPCURL, s.settings.Timeout), err}
	case errors.Is(err, client.ErrUnreachable) && errors.As(err, &transport):
		return explained{
			fmt.Sprintf("no node can be reached at %s: %s%s", s.settings.RPCURL, transport.Err, transportHint(transport.Err)),
			err,
		}
	}
	return err
}

// inCoins says in coins what the sender of a transaction has, and what it may cost.
func inCoins(err error) error {
	var refusal *client.Error
	funds, known := client.Shortfall(err)
	if !known || !errors.As(err, &refusal) {
		return err
	}
	said := *refusal
	said.Message = fmt.Sprintf("the sender has %s, and the transaction may cost %s", coins(funds.Balance), coins(funds.Needed))
	if funds.Pending > 0 {
		said.Message = fmt.Sprintf("the transaction may cost %s, and of the sender's %s %s are reserved by %s",
			coins(funds.Needed), coins(funds.Balance), coins(funds.Reserved), api.PendingText(funds.Pending))
	}
	return explained{said.Message, &said}
}

// transportHint says what is probably wrong with the URL or the settings where a connection does not come to an answer.
func transportHint(err error) string {
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return "; if the certificate is your own, name it with --ca-file"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "; it does not speak TLS: try http://"
	case errors.Is(err, io.EOF):
		return " (the connection was closed without an answer); if the node speaks TLS: try https://"
	}
	return ""
}
