package session

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
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/client"
)

// explained is an error with a replaced message.
type explained struct {
	text  string
	cause error
}

// Reworded returns an error with another text, which wraps the given one and which the session does not explain.
func Reworded(err error, text string) error { return explained{text, err} }

func (e explained) Error() string { return e.text }

func (e explained) Unwrap() error { return e.cause }

// Explain describes a connection failure in one sentence. Errors returned by the node are unchanged.
func (s *Session) Explain(ctx context.Context, err error) error {
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
		return explained{fmt.Sprintf("the node at %s refused the request: %s", s.Settings.RPCURL, status), err}
	case errors.Is(err, client.ErrUnreachable) && errors.Is(err, context.DeadlineExceeded):
		return explained{fmt.Sprintf("the node at %s did not answer within %s", s.Settings.RPCURL, s.Settings.Timeout), err}
	case errors.Is(err, client.ErrUnreachable) && errors.As(err, &transport):
		return explained{
			fmt.Sprintf("cannot reach a node at %s: %s%s", s.Settings.RPCURL, transport.Err, transportHint(transport.Err)),
			err,
		}
	}
	return err
}

// inCoins restates the amounts of an unpayable transaction in coins.
func inCoins(err error) error {
	var refusal *client.Error
	funds, known := client.Shortfall(err)
	if !known || !errors.As(err, &refusal) {
		return err
	}
	said := *refusal
	said.Message = fmt.Sprintf("insufficient balance: the sender has %s, and the transaction may cost %s",
		show.Coins(funds.Balance), show.Coins(funds.Needed))
	if funds.Pending > 0 {
		said.Message = fmt.Sprintf("insufficient balance: the transaction may cost %s, and of the sender's %s, %s "+
			"are reserved by %s",
			show.Coins(funds.Needed), show.Coins(funds.Balance), show.Coins(funds.Reserved),
			api.PendingText(funds.Pending))
	}
	return explained{said.Message, &said}
}

// transportHint suggests how to correct the URL or the settings after a failed connection.
func transportHint(err error) string {
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return "; if the certificate is self-signed or from your own CA, give it with --ca-file"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "; the node does not use TLS: try http://"
	case errors.Is(err, io.EOF):
		return " (the connection was closed without an answer); if the node uses TLS: try https://"
	}
	return ""
}
