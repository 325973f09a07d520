package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/loadgen"
	"github.com/cairn-chain/cairn/types"
)

// transfers sends transfers of 400 senders repeatedly, as `cairn bench` does, in batches and at a rate in calls per
// second (0: after each response).
func (st *stage) transfers(ctx context.Context, perSender, batch int, rate float64) error {
	for ctx.Err() == nil {
		if err := st.load(ctx, crowd(perSender), loadgen.Options{Batch: batch, Rate: rate}); err != nil {
			return asAsked(ctx, err)
		}
	}
	return nil
}

// crowd returns a load of 400 senders.
func crowd(perSender int) loadgen.Plan {
	return loadgen.Plan{Load: loadgen.Transfers, Connections: 16, Senders: 400, PerSender: perSender}
}

// load sends transfers and waits until they are included.
func (st *stage) load(ctx context.Context, plan loadgen.Plan, options loadgen.Options) error {
	send, err := st.sign(ctx, plan, options)
	if err != nil {
		return err
	}
	return send(ctx)
}

// sign funds the senders of a load and signs it, so that it is ready to be sent.
func (st *stage) sign(
	ctx context.Context, plan loadgen.Plan, options loadgen.Options,
) (send func(context.Context) error, err error) {
	target, err := loadgen.PrepareCairn(ctx, st.client, plan, &st.treasury, func(string) {})
	if err != nil {
		return nil, err
	}
	queues, err := loadgen.Prepare(ctx, target, plan, nil)
	if err != nil {
		return nil, err
	}
	options.URL, options.Settle = st.url(), time.Minute
	return func(ctx context.Context) error {
		_, err := loadgen.Run(ctx, target, plan, queues, options)
		return err
	}, nil
}

// badCalls calls a method that does not exist, on behalf of a client with a documentation address.
func (st *stage) badCalls(ctx context.Context, interval time.Duration) error {
	return asAsked(ctx, every(ctx, interval, func() (bool, error) {
		body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"svc_noSuchMethod","params":[]}`)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, st.url(), body)
		if err != nil {
			return false, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-Forwarded-For", "203.0.113.7") // RFC 5737
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		return false, errors.Join(err, response.Body.Close())
	}))
}

// badSignatures sends batches of transactions that are valid except for their signatures.
func (st *stage) badSignatures(ctx context.Context, size int) error {
	chainID, err := st.client.ChainID(ctx)
	if err != nil {
		return err
	}
	signer, nonce := client.NewSigner(st.treasury), uint64(0)
	return asAsked(ctx, every(ctx, time.Second/4, func() (bool, error) {
		var batch client.Batch
		var answers []client.Pending[types.TxID]
		for range size {
			signed, err := client.Sign(ctx, signer, types.Transaction{
				ChainID:              chainID,
				Sender:               signer.Account(),
				Nonce:                nonce % 16,
				GasLimit:             100_000,
				MaxFeePerGas:         1000,
				MaxPriorityFeePerGas: 1,
				Target:               signer.Account(),
				Value:                types.Amount(1 + nonce),
				Payload:              types.Transfer{},
			})
			if err != nil {
				return false, err
			}
			nonce++
			signed.Witness = types.WitnessKey{Signature: types.Signature{63: 1}}
			answers = append(answers, client.Add(
				&batch, api.SendRawTransaction, api.RawTransactionParams{Transaction: signed.Encode()},
			))
		}
		if err := batch.Send(ctx, st.client); err != nil {
			return false, err
		}
		for _, answer := range answers {
			if _, err := answer.Result(); err == nil {
				return false, errors.New("the node took a wrong signature")
			}
		}
		return false, nil
	}))
}

// dial opens a connection.
func (st *stage) dial(ctx context.Context) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", strings.TrimPrefix(st.url(), "http://"))
}

// idle holds idle connections.
func (st *stage) idle(ctx context.Context, count int) error {
	connections := make([]net.Conn, count)
	defer func() {
		for _, c := range connections {
			if c != nil {
				_ = c.Close() // nothing was written that could be lost
			}
		}
	}()
	for i := range connections {
		var err error
		if connections[i], err = st.dial(ctx); err != nil {
			return asAsked(ctx, err)
		}
	}
	<-ctx.Done()
	return nil
}

// slowReaders adds three WebSocket clients each second that subscribe but do not read. Each keeps its connection until
// the node closes it.
func (st *stage) slowReaders(ctx context.Context) error {
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close() // the node has closed most of them
		}
	}()
	return asAsked(ctx, every(ctx, time.Second/3, func() (bool, error) {
		c, err := st.dial(ctx)
		if err != nil {
			return false, err
		}
		open = append(open, c)
		if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			return false, err
		}
		if _, err := fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
			strings.TrimPrefix(st.url(), "http://")); err != nil {
			return false, err
		}
		response, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
		if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
			return false, fmt.Errorf("no WebSocket: %v, %w", response, err)
		}
		for _, topic := range []string{string(api.TopicPending), string(api.TopicBlocks)} {
			if _, err := c.Write(frame(fmt.Sprintf(
				`{"jsonrpc":"2.0","id":1,"method":"svc_subscribe","params":[%q]}`, topic,
			))); err != nil {
				return false, err
			}
		}
		return false, nil
	}))
}

// frame returns a client's text message of up to 125 bytes, with a zero mask (RFC 6455, section 5.2).
func frame(text string) []byte {
	return append([]byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...)
}

// writeHistory makes blocks of transfers, makes the node write them to files, and restarts it, so that they are not in
// memory. The node makes no more blocks, as that could read the damaged data and stop the node.
func writeHistory(ctx context.Context, st *stage) error {
	plan := loadgen.Plan{Load: loadgen.Transfers, Connections: 16, Senders: 100, PerSender: 100}
	if err := st.load(ctx, plan, loadgen.Options{Batch: 100}); err != nil {
		return err
	}
	head, err := st.client.BlockNumber(ctx)
	if err != nil {
		return err
	}
	blocks, err := st.client.EncodedBlocks(ctx, 1, head, "")
	if err != nil {
		return err
	}
	for i, encoded := range blocks {
		if len(encoded) > len(st.largest) {
			st.height, st.largest = types.Height(1+i), encoded
		}
	}
	return errors.Join(st.stop(os.Interrupt), st.start(ctx, slices.Concat(st.args, []string{"--block-time", "1h"})...))
}

// damageHistory flips a bit of the largest block in the files of the node's database, and requests that block.
func damageHistory(ctx context.Context, st *stage) error {
	files, err := filepath.Glob(filepath.Join(st.data, "db", "*.sst"))
	if err != nil {
		return err
	}
	flipped := 0
	for _, name := range files {
		flips, err := flipIn(name, st.largest)
		if err != nil {
			return err
		}
		flipped += flips
	}
	if flipped == 0 {
		return fmt.Errorf("no file of the database has the transactions of block %d", st.height)
	}
	select { // let Prometheus see the counter without an error
	case <-time.After(3 * scrape):
	case <-ctx.Done():
		return nil
	}
	var block json.RawMessage
	err = st.client.Raw(ctx, api.GetBlockByNumber.Name, []any{st.height, true}, &block)
	if failure := new(client.Error); !errors.As(err, &failure) || failure.Code != -32603 {
		return asAsked(ctx, fmt.Errorf("block %d, of which a bit was flipped, is answered with %v", st.height, err))
	}
	<-ctx.Done()
	return nil
}

// flipIn flips a bit in the middle of a block's transactions, at each place where a file contains them, and returns the
// number of places. Recently written data is not compressed.
func flipIn(name string, block []byte) (flips int, err error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	const few = 32 // bytes that occur nowhere else, as transactions have random signatures
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	part := block[len(block)/2:][:few]
	for at := bytes.Index(content, part); at >= 0; at = bytes.Index(content, part) {
		content[at] ^= 4
		if _, err := file.WriteAt(content[at:at+1], int64(at)); err != nil {
			return flips, err
		}
		flips++
	}
	return flips, nil
}
