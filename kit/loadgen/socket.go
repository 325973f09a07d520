package loadgen

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// keptMessage is the number of bytes kept of a message: a block's height is near its beginning.
	keptMessage = 512
	// socketBuffer is the size of a connection's buffer, in bytes.
	socketBuffer = 16 << 10
)

// Opcodes (RFC 6455, section 5.2).
const (
	opContinuation = 0x0
	opText         = 0x1
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA
)

var errFrame = errors.New("the received data is not a WebSocket frame of a server")

// closed is the error for a connection that the node closed.
type closed struct {
	code   uint16
	reason string
}

func (c closed) Error() string { return fmt.Sprintf("closed with %d %s", c.code, c.reason) }

// socket is a WebSocket connection (RFC 6455) that examines only the beginning of each message: decoding every block
// for every subscriber would take the node's processor time.
type socket struct {
	net.Conn
	reader *bufio.Reader
	begin  []byte // beginning of the current message
	bytes  int64  // received in all messages
}

// openSocket opens a WebSocket connection to the node's /ws.
func openSocket(ctx context.Context, dial dialer, token string) (*socket, error) {
	c, err := dial.dial(ctx)
	if err != nil {
		return nil, err
	}
	s := &socket{Conn: c.Conn, reader: bufio.NewReaderSize(c.Conn, socketBuffer), begin: make([]byte, 0, keptMessage)}
	if err := s.handshake(dial.node, token); err != nil {
		_ = s.Close() // already unusable
		return nil, err
	}
	return s, nil
}

// handshake performs the opening handshake (RFC 6455, section 4.1).
func (s *socket) handshake(node *url.URL, token string) error {
	if err := s.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	key := base64.StdEncoding.EncodeToString(random[:])
	path := "/" + strings.TrimPrefix(node.JoinPath("ws").RequestURI(), "/") // whether or not the node's URL has a path
	request := "GET " + path + " HTTP/1.1\r\nHost: " + node.Host +
		"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + "\r\n"
	if token != "" {
		request += "Authorization: Bearer " + token + "\r\n"
	}
	if _, err := io.WriteString(s, request+"\r\n"); err != nil {
		return err
	}
	response, err := http.ReadResponse(s.reader, nil)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(response.Body, keptMessage)) // best effort, for the error message
		return fmt.Errorf("HTTP status %s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	if response.Header.Get("Sec-WebSocket-Accept") != acceptOf(key) {
		return errors.New("the answer is not one to this WebSocket handshake")
	}
	return s.SetDeadline(time.Time{})
}

// acceptOf returns the server's response to a handshake key (RFC 6455, section 4.2.2).
func acceptOf(key string) string {
	digest := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(digest[:])
}

// write sends one frame with at most 125 bytes of payload, or at most 64 KiB of text. It masks with zeros, which leaves
// the payload unchanged.
func (s *socket) write(opcode byte, payload []byte) error {
	frame := []byte{0x80 | opcode, 0x80 | byte(len(payload))}
	if len(payload) > 125 {
		frame[1] = 0x80 | 126
		frame = binary.BigEndian.AppendUint16(frame, uint16(len(payload)))
	}
	frame = append(frame, 0, 0, 0, 0)
	_, err := s.Conn.Write(append(frame, payload...))
	return err
}

// message returns the beginning of the next message, valid until the next call. The error is a [closed] if the node
// closed the connection.
func (s *socket) message() ([]byte, error) {
	s.begin = s.begin[:0]
	for {
		opcode, fin, length, err := s.header()
		if err != nil {
			return nil, err
		}
		if opcode >= opClose {
			if err := s.control(opcode, length); err != nil {
				return nil, err
			}
			continue
		}
		if opcode != opText && opcode != opContinuation {
			return nil, errFrame
		}
		s.bytes += int64(length)
		kept := min(length, cap(s.begin)-len(s.begin))
		n, err := io.ReadFull(s.reader, s.begin[len(s.begin):len(s.begin)+kept])
		s.begin = s.begin[:len(s.begin)+n]
		if err == nil {
			_, err = s.reader.Discard(length - kept)
		}
		if err != nil {
			return nil, err
		}
		if fin {
			return s.begin, nil
		}
	}
}

// header reads a frame's header.
func (s *socket) header() (opcode byte, fin bool, length int, err error) {
	var b [8]byte
	if _, err := io.ReadFull(s.reader, b[:2]); err != nil {
		return 0, false, 0, err
	}
	if b[0]&0x70 != 0 || b[1]&0x80 != 0 {
		return 0, false, 0, errFrame // a server does not mask frames, and no extension was negotiated
	}
	opcode, fin, size := b[0]&0xf, b[0]&0x80 != 0, uint64(b[1])
	switch size {
	case 126:
		_, err = io.ReadFull(s.reader, b[:2])
		size = uint64(binary.BigEndian.Uint16(b[:2]))
	case 127:
		_, err = io.ReadFull(s.reader, b[:])
		size = binary.BigEndian.Uint64(b[:])
	}
	if err == nil && size > maxAnswer {
		err = errFrame
	}
	return opcode, fin, int(size), err
}

// control answers a ping, and turns a close into an error.
func (s *socket) control(opcode byte, length int) error {
	if length > 125 {
		return errFrame
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(s.reader, payload); err != nil {
		return err
	}
	switch {
	case opcode == opPing:
		return s.write(opPong, payload)
	case opcode == opClose && length >= 2:
		return closed{binary.BigEndian.Uint16(payload), string(payload[2:])}
	case opcode == opClose:
		return closed{code: 1005} // RFC 6455, section 7.4.1: no code present
	}
	return nil
}
