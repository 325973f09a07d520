package p2p

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// kind is what a frame holds.
type kind uint8

// The kinds of frames. On the connection for calls a body begins with the number of its call.
const (
	frameHello     kind = 0x00
	frameMessage   kind = 0x01 // raftpb.Message
	frameTake      kind = 0x02
	frameTaken     kind = 0x03
	frameBlocks    kind = 0x04
	frameBlocksOf  kind = 0x05
	framePending   kind = 0x06
	framePage      kind = 0x07
	frameLease     kind = 0x08
	frameGranted   kind = 0x09
	frameMembers   kind = 0x0b
	frameMembersOf kind = 0x0c
	frameReport    kind = 0x0d
	frameReportOf  kind = 0x0e
	frameFailed    kind = 0x0f // a call's other answer
	frameRefused   kind = 0x10 // instead of a Hello: the cause
	frameProof     kind = 0x11
	frameProofPart kind = 0x12
)

const (
	// MaxFrame is the most bytes that a frame's body has: a full block, and what is around it.
	MaxFrame = 8<<20 + 64<<10
	// maxHello is the most bytes before a Hello was accepted.
	maxHello = 512

	frameHead = 4 + 1
)

// ErrFrame is the error of bytes that are no frame that may come.
var ErrFrame = errors.New("not a frame of the cluster's link")

// appendFrame appends a frame, whose body may be in parts. Its length counts kind and body.
func appendFrame(b []byte, k kind, body ...[]byte) []byte {
	length := 1
	for _, part := range body {
		length += len(part)
	}
	b = append(binary.LittleEndian.AppendUint32(b, uint32(length)), byte(k))
	for _, part := range body {
		b = append(b, part...)
	}
	return b
}

// appendMessage appends the frame of a message of raft.
func appendMessage(b []byte, m *raftpb.Message) ([]byte, error) {
	from := len(b)
	b, err := proto.MarshalOptions{}.MarshalAppend(append(b, make([]byte, frameHead)...), m)
	if err != nil {
		return nil, err
	}
	length := len(b) - from - frameHead
	if length > MaxFrame {
		return nil, fmt.Errorf("%w: a message of %d bytes", ErrFrame, length)
	}
	binary.LittleEndian.PutUint32(b[from:], uint32(1+length))
	b[from+frameHead-1] = byte(frameMessage)
	return b, nil
}

// readFrame reads a frame whose body has at most limit bytes.
func readFrame(r io.Reader, limit int) (kind, []byte, error) { return readFrameTo(nil, r, limit) }

// readFrameTo is readFrame that uses the memory of another body if that is enough.
func readFrameTo(memory []byte, r io.Reader, limit int) (kind, []byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length < 1 || int64(length) > int64(limit)+1 {
		return 0, nil, fmt.Errorf("%w: of %d bytes", ErrFrame, length)
	}
	body := slices.Grow(memory[:0], int(length-1))[:length-1]
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, err
	}
	return kind(head[4]), body, nil
}
