package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

const (
	// maxMessage bounds a message of the node in bytes: its largest answer.
	maxMessage = 64 << 20
	// handshakeTime bounds making a connection and each call over it. pingInterval is the time between two pings, each
	// of which the node must answer within handshakeTime.
	handshakeTime = 30 * time.Second
	pingInterval  = 30 * time.Second
)

// socket is a WebSocket connection to the node. Its calls and reads belong to one goroutine.
type socket struct {
	ws     *websocket.Conn
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	lastID uint64
	text   bytes.Buffer // the last message
}

// webSocketURL is the endpoint for WebSocket of the node at an http or https URL.
func webSocketURL(address string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	parsed.Scheme = strings.Replace(parsed.Scheme, "http", "ws", 1)
	return parsed.JoinPath("ws").String(), nil
}

// dial connects. The error wraps ErrUnreachable, and a *StatusError where the node refuses.
func (c *Client) dial(ctx context.Context) (*socket, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	header := http.Header{}
	if c.token != nil {
		header.Set("Authorization", "Bearer "+c.token())
	}
	asked := c.nodes.now()
	ws, response, err := websocket.Dial(
		ctx, asked.webSocket, &websocket.DialOptions{HTTPClient: &c.handshake, HTTPHeader: header},
	)
	if err != nil && response != nil && response.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 512)) // best effort: the text is only shown to people
		status := &StatusError{Status: response.StatusCode, Message: strings.TrimSpace(string(text))}
		if seconds, bad := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31); bad == nil {
			status.RetryAfter = time.Duration(seconds) * time.Second
		}
		err := fmt.Errorf("%w: %w", ErrUnreachable, status)
		c.nodes.failed(asked, err)
		return nil, err
	}
	if err != nil {
		c.nodes.failed(asked, ErrUnreachable)
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	ws.SetReadLimit(maxMessage)
	s := &socket{ws: ws}
	var pinging context.Context
	pinging, s.cancel = context.WithCancel(context.Background())
	s.tasks.Go(func() { s.ping(pinging) })
	return s, nil
}

// ping cuts the connection when the node no longer answers: a read would wait for ever.
func (s *socket) ping(ctx context.Context) {
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		asking, cancel := context.WithTimeout(ctx, handshakeTime)
		err := s.ws.Ping(asking)
		cancel()
		if err != nil {
			_ = s.ws.CloseNow() // the reader sees that
			return
		}
	}
}

func (s *socket) close() {
	s.cancel()
	_ = s.ws.CloseNow() // the node needs no farewell
	s.tasks.Wait()
}

// message is an answer or a notification.
type message struct {
	ID     *uint64         `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// receive reads a message. Its bytes are valid until the next call.
func (s *socket) receive(ctx context.Context) ([]byte, error) {
	_, message, err := s.ws.Reader(ctx)
	if err == nil {
		s.text.Reset()
		_, err = s.text.ReadFrom(message)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return s.text.Bytes(), nil
}

func decodeMessage(text []byte) (m message, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	return m, nil
}

// call calls a method before there are subscriptions, and decodes its answer into result.
func (s *socket) call(ctx context.Context, method string, params []any, result any) error {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	s.lastID++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.lastID, "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := s.ws.Write(ctx, websocket.MessageText, body); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	text, err := s.receive(ctx)
	if err != nil {
		return err
	}
	m, err := decodeMessage(text)
	switch {
	case err != nil:
		return err
	case m.Error != nil:
		return m.Error
	case m.ID == nil || *m.ID != s.lastID:
		return fmt.Errorf("%w: it does not belong to %s", ErrBadAnswer, method)
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrBadAnswer, method, err)
	}
	return nil
}

// notification waits for the next notification and decodes its parameters.
func notification[R any](ctx context.Context, s *socket) (params api.NotificationParams[R], err error) {
	text, err := s.receive(ctx)
	if err != nil {
		return params, err
	}
	if parse, ok := any(&params.Result).(jsonrpc.Parser); ok {
		if id, result, ok := cutNotification(text); ok && parse.ParseJSON(result) {
			return params, params.Subscription.UnmarshalText(id)
		}
	}
	m, err := decodeMessage(text)
	if err != nil {
		return params, err
	}
	if m.Method != api.Notification {
		return params, fmt.Errorf("%w: it is not a notification", ErrBadAnswer)
	}
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return params, fmt.Errorf("%w: notification: %w", ErrBadAnswer, err)
	}
	return params, nil
}

// notificationPrefix is the beginning of each notification from the node.
const notificationPrefix = `{"jsonrpc":"2.0","method":"` + api.Notification + `","params":{"subscription":"`

// cutNotification cuts a notification, in the form in which the node writes it, into the subscription's ID and the
// result. It returns false for any other text.
func cutNotification(text []byte) (id, result []byte, ok bool) {
	rest, begins := bytes.CutPrefix(text, []byte(notificationPrefix))
	rest, ends := bytes.CutSuffix(rest, []byte("}}"))
	id, result, cut := bytes.Cut(rest, []byte(`","result":`))
	return id, result, begins && ends && cut && len(id) <= len("0x")+16
}

// nextHeight is the height of the block after the head.
func (s *socket) nextHeight(ctx context.Context) (*types.Height, error) {
	var head api.Quantity
	err := s.call(ctx, api.BlockNumber.Name, []any{}, &head)
	return new(types.Height(head) + 1), err
}
