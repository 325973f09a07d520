package p2p

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/cairn-chain/cairn/types"
)

// kind is the type of a frame.
type kind uint8

// The kinds of frames. On the calls connection, a body begins with the call's number.
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
	frameFailed    kind = 0x0f // answer to any call that failed
	frameRefused   kind = 0x10 // the cause, sent instead of a Hello
	frameProof     kind = 0x11
	frameProofPart kind = 0x12
)

const (
	// MaxFrame bounds a frame's body, in bytes: a full block and its envelope.
	MaxFrame = types.MaxEncodedBlockBytes + 64<<10
	// maxHello bounds a frame's body before a Hello is accepted.
	maxHello = 512

	frameHead = 4 + 1
)

// ErrFrame is returned for an invalid or unexpected frame.
var ErrFrame = errors.New("not a frame of the cluster's link")

// appendFrame appends a frame whose body may be in parts. The length field counts the kind and the body.
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

// appendMessage appends a raft message as a frame.
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

// readFrame reads a frame with a body of at most limit bytes.
func readFrame(r io.Reader, limit int) (kind, []byte, error) { return readFrameTo(nil, r, limit) }

// readFrameTo is like readFrame, but reuses the given memory for the body if it is large enough.
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
