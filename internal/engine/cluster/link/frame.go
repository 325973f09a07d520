package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// appendFrame appends a frame. Its length counts kind and body.
func appendFrame(b []byte, k kind, body []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(1+len(body)))
	return append(append(b, byte(k)), body...)
}

// readFrame reads a frame whose body has at most limit bytes.
func readFrame(r io.Reader, limit int) (kind, []byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length < 1 || int64(length) > int64(limit)+1 {
		return 0, nil, fmt.Errorf("%w: of %d bytes", ErrFrame, length)
	}
	body := make([]byte, length-1)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, err
	}
	return kind(head[4]), body, nil
}
