package ledger

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// transcript is an engine that records the calls between contracts and their host. The transcripts of two engines for a
// block agree until one engine makes a mistake, and the code running there is the one it ran wrongly: both hosts gave
// that code the same answers before.
type transcript struct {
	vm.Engine
	codes []types.CodeHash // codes that ran, in the order of their first run
	place map[types.CodeHash]int32
	notes []note
}

// note is a digest of one interaction of a code.
type note struct {
	code int32 // index in codes
	sum  uint64
}

// mostNotes bounds a transcript to 16 MiB. Transcripts that agree up to there do not single out a code.
const mostNotes = 1 << 20

var noteSeed = maphash.MakeSeed()

func newTranscript(e vm.Engine) *transcript {
	return &transcript{Engine: e, place: make(map[types.CodeHash]int32)}
}

// Run implements [vm.Engine].
func (t *transcript) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (vm.Exit, error) {
	code, known := t.place[hash]
	if !known {
		code = int32(len(t.codes))
		t.codes, t.place[hash] = append(t.codes, hash), code
	}
	exit, err := t.Engine.Run(hash, module, function, &recordingHost{host, t, code}, gas)
	if err == nil {
		t.note(code, nil, uint64(exit), gas.Left)
	}
	return exit, err
}

func (t *transcript) note(code int32, data []byte, words ...uint64) {
	if len(t.notes) == mostNotes {
		return
	}
	var h maphash.Hash
	h.SetSeed(noteSeed)
	for _, w := range words {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, w)) // a hash does not fail
	}
	_, _ = h.Write(data)
	t.notes = append(t.notes, note{code, h.Sum64()})
}

// differing returns the codes that the engine of another transcript ran wrongly: the first code whose notes differ, or
// all that ran if none is known. A nil transcript is empty.
func (t *transcript) differing(from *transcript) []types.CodeHash {
	if from == nil {
		return t.codes
	}
	for i, n := range t.notes {
		if i == len(from.notes) || from.notes[i] != n {
			return []types.CodeHash{t.codes[n.code]}
		}
	}
	if len(from.notes) > len(t.notes) {
		return []types.CodeHash{from.codes[from.notes[len(t.notes)].code]}
	}
	return t.codes
}

// recordingHost is a host that records the calls of a code.
type recordingHost struct {
	vm.Host
	in   *transcript
	code int32
}

// Invoke implements [vm.Host].
func (h *recordingHost) Invoke(function vm.Function, memory vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
	said := []uint64{uint64(function), gas.Left}
	for i, p := range vm.Functions[function].Params {
		if p == vm.I32 { // the upper bits are never read
			said = append(said, uint64(uint32(stack[i])))
		} else {
			said = append(said, stack[i])
		}
	}
	h.in.note(h.code, nil, said...)
	return h.Host.Invoke(function, recordingMemory{memory, h}, stack, gas)
}

// Grow implements [vm.Host].
func (h *recordingHost) Grow(memory vm.Memory, pages uint32) bool {
	h.in.note(h.code, nil, uint64(memory.Pages()), uint64(pages))
	return h.Host.Grow(memory, pages)
}

// recordingMemory is a memory that records the bytes that the host reads.
type recordingMemory struct {
	vm.Memory
	host *recordingHost
}

// Range implements [vm.Memory].
func (m recordingMemory) Range(pointer, n uint32) ([]byte, bool) {
	data, inside := m.Memory.Range(pointer, n)
	m.host.in.note(m.host.code, data, uint64(pointer), uint64(n))
	return data, inside
}
