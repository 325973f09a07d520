package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

func (n *node) certificate() string { return filepath.Join(n.dir, "cert.pem") }
func (n *node) key() string         { return filepath.Join(n.dir, "key.pem") }

// makeCertificate writes a certificate, signed by itself, and its key.
func (n *node) makeCertificate() error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(n.certificate(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}), 0o600),
		os.WriteFile(n.key(), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600),
	)
}

// clientHello returns the first message of a TLS handshake. A server cannot tell that it was sent before.
func clientHello() ([]byte, error) {
	ours, theirs := net.Pipe()
	go func() {
		_ = tls.Client(theirs, &tls.Config{InsecureSkipVerify: true}).Handshake() // it fails: nobody answers
		_ = theirs.Close()
	}()
	hello := make([]byte, 16<<10)
	n, err := ours.Read(hello)
	return hello[:n], errors.Join(err, ours.Close())
}

// shaking returns an attack whose clients begin TLS handshakes, and reset the connection once the server has computed
// its answer. A node without TLS must refuse them as malformed.
func shaking(count int) func(context.Context, settings, int) (func(context.Context, *node, *tally), error) {
	nothing := func(chain, string) request { return request{} }
	return freeClients(count, nothing, func(ctx context.Context, c *freeClient) {
		hello, err := clientHello()
		if err != nil {
			c.tally.fail("no handshake", err.Error())
			return
		}
		for ctx.Err() == nil {
			l, err := c.node.dialTCP(ctx, nextAddress())
			if err != nil {
				continue
			}
			if l.SetDeadline(time.Now().Add(answerTime)) == nil {
				_, _ = l.Write(hello)
				_, _ = l.reader.ReadByte() // whatever the answer is
			}
			_ = l.tcp.SetLinger(0)
			l.end()
			c.tally.note("begun")
		}
	})
}

// upgrade is the handshake of a WebSocket.
func upgrade(_ chain, fields string) request {
	return request{wire: []byte("GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\n" + fields +
		"Upgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"), wants: [][]string{grudging}}
}

// Frames of a WebSocket with a zero mask: a ping, and a fragment without content. The latter needs textStart first.
var (
	pingFrame     = []byte{0x89, 0x80, 0, 0, 0, 0}
	textStart     = []byte{0x01, 0x80, 0, 0, 0, 0}
	emptyFragment = []byte{0x00, 0x80, 0, 0, 0, 0}
)

// streaming returns an attack whose clients send frames on a WebSocket as fast as the node takes them.
func streaming(
	count int, frames []byte,
) func(context.Context, settings, int) (func(context.Context, *node, *tally), error) {
	return freeClients(count, upgrade, func(ctx context.Context, c *freeClient) {
		for ctx.Err() == nil {
			l := c.dial(ctx)
			if l == nil {
				return
			}
			_ = l.tcp.SetLinger(0) // else the end waits behind what the node does not read, for minutes
			outcome := l.upgrade(&c.request)
			if ctx.Err() == nil {
				c.tally.count(&c.request, []string{outcome})
			}
			if outcome == okay {
				go func() { _, _ = io.Copy(io.Discard, l.reader) }() // pongs
				_ = l.SetDeadline(time.Time{})
				_, err := l.Write(textStart)
				for err == nil && ctx.Err() == nil {
					_, err = l.Write(frames)
				}
			} else {
				pause(ctx, time.Duration(c.of)*time.Second/retryRate)
			}
			l.end()
		}
	})
}

// upgrade turns the connection into a WebSocket. It returns the outcome.
func (l *link) upgrade(r *request) string {
	if err := l.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return closed
	}
	_, writeErr := l.Write(r.wire)
	response, err := http.ReadResponse(l.reader, nil)
	switch {
	case errors.Join(writeErr, err) != nil:
		return closed
	case response.StatusCode != http.StatusSwitchingProtocols:
		return "HTTP " + strconv.Itoa(response.StatusCode)
	}
	return okay
}

// files is a download of one of several files, of which every other one is compressed.
func files(paths func(chain) []string) freely {
	var clients atomic.Int64
	return func(c chain, fields string) request {
		all, number := paths(c), int(clients.Add(1))
		if number/len(all)%2 == 0 {
			fields += "Accept-Encoding: zstd\r\n"
		}
		wire := "GET " + all[number%len(all)] + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + fields + "\r\n"
		return request{wire: []byte(wire), wants: [][]string{grudging}}
	}
}

// largeSenders is the number of accounts that send contracts.
const largeSenders = 256

// largeSends returns an attack whose clients fill the pool with the largest contracts, each with the gas limit of a
// block and the lowest fee, so that a block includes one of them. It continues once the pool is full.
func largeSends(count int) func(context.Context, settings, int) (func(context.Context, *node, *tally), error) {
	code := wordyContract()
	signers := signersOf("pool", 0, largeSenders)
	right := append([]string{alreadyKnown, nonceTooLow, nonceTooHigh, held, poolFull}, grudging...)
	nothing := func(chain, string) request { return request{} }
	return freeClients(count, nothing, func(ctx context.Context, c *freeClient) {
		var l *link
		for i := c.number; ctx.Err() == nil; i += c.of {
			from := signers[i%len(signers)]
			tx := types.Transaction{
				ChainID: chainID, Sender: from.Account(), Nonce: uint64(i / len(signers)), GasLimit: blockGas,
				MaxFeePerGas: lowestFee, Payload: types.Deploy{Name: "large", Code: code},
			}
			signed, err := client.Sign(ctx, from, tx)
			if err != nil {
				c.tally.fail("not signed", err.Error())
				return
			}
			if l == nil {
				if l = c.dial(ctx); l == nil {
					return
				}
			}
			r := postWith(c.fields, sendBody([][]byte{signed.Encode()}), right...)
			outcome, goesOn := l.skim(r.wire)
			if ctx.Err() != nil {
				break
			}
			c.tally.count(&r, []string{outcome})
			if !goesOn {
				l.end()
				l = nil
			}
			if outcome != okay {
				pause(ctx, time.Duration(c.of)*time.Second/retryRate)
			}
		}
		if l != nil {
			l.end()
		}
	})
}

// trickling returns an attack whose clients send a byte of a header, or of a large body, every second.
func trickling(count int) func(context.Context, settings, int) (func(context.Context, *node, *tally), error) {
	nothing := func(chain, string) request { return request{} }
	const slowPause, body = time.Second, 5 << 20
	return freeClients(count, nothing, func(ctx context.Context, c *freeClient) {
		begin := "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" + c.fields
		if c.number%2 == 0 {
			begin += fmt.Sprintf("Content-Length: %d\r\n\r\n", body)
		} else {
			begin += "X-Long: "
		}
		for ctx.Err() == nil {
			l := c.dial(ctx)
			if l == nil {
				return
			}
			_, err := l.Write([]byte(begin))
			for err == nil && pause(ctx, slowPause) {
				_, err = l.Write([]byte{' '})
			}
			l.end()
			c.tally.note(cut)
		}
	})
}

// scraping returns an attack whose clients read the metrics of the admin address again and again, all from one address,
// which is not the one that watches the node.
func scraping(count int) func(context.Context, settings, int) (func(context.Context, *node, *tally), error) {
	nothing := func(chain, string) request { return request{wants: [][]string{{okay, closed, "HTTP 503"}}} }
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: nextAddress()}, Timeout: answerTime}
	return freeClients(count, nothing, func(ctx context.Context, c *freeClient) {
		if c.number >= count {
			return // of more addresses than connections
		}
		for direct := (&http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}); ctx.Err() == nil; {
			outcome := closed
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.node.Admin+"/metrics", nil)
			if err != nil {
				return
			}
			response, err := direct.Do(request)
			if err == nil {
				_, err = io.Copy(io.Discard, response.Body)
				err = errors.Join(err, response.Body.Close())
			}
			switch {
			case err == nil && response.StatusCode == http.StatusOK:
				outcome = okay
			case err == nil:
				outcome = "HTTP " + strconv.Itoa(response.StatusCode)
			}
			if ctx.Err() == nil {
				c.tally.count(&c.request, []string{outcome})
			}
		}
	})
}
