package vm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Encode encodes the module without [Module.Instrumented], so that a cache of machine code need not check the code
// again. [DecodeModule] is the inverse.
func (m *Module) Encode() []byte {
	out := make([]byte, 0, 256+len(m.skeleton.Module))
	out = appendU32(appendU32(appendU32(out, uint32(m.size)), m.pages), m.maxPages)
	for _, n := range []uint64{uint64(m.deployGas), m.load, m.items} {
		out = binary.LittleEndian.AppendUint64(out, n)
	}
	out = append(out, flag(m.hasInit), flag(m.reentrant))
	out = appendU32(out, uint32(len(m.callable)))
	for _, name := range slices.Sorted(maps.Keys(m.callable)) {
		out = appendName(out, name)
	}
	out = appendName(out, string(m.skeleton.Module))
	out = appendU32(out, uint32(len(m.skeleton.Functions)))
	for _, f := range m.skeleton.Functions {
		out = appendU32(out, f)
	}
	out = appendU32(out, uint32(len(m.skeleton.Data)))
	for _, s := range m.skeleton.Data {
		out = appendName(appendU32(out, s.Offset), string(s.Bytes))
	}
	return out
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

var errEncoding = errors.New("the bytes do not encode a module")

// DecodeModule decodes a module, without [Module.Instrumented]. It does not retain encoded. It accepts exactly the
// encodings that [Module.Encode] writes, but cannot check that they belong to any code: the caller must authenticate
// them.
func DecodeModule(encoded []byte) (m *Module, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			if _, ok := fault.(*Refused); !ok {
				panic(fault)
			}
			m, err = nil, errEncoding
		}
	}()
	r := &reader{code: encoded, end: len(encoded)}
	m = &Module{size: int(r.u32()), pages: r.u32(), maxPages: r.u32()}
	number := func() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }
	m.deployGas, m.load, m.items = types.Gas(number()), number(), number()
	m.hasInit, m.reentrant = r.byte() == 1, r.byte() == 1
	names := r.count()
	m.callable = make(map[string]struct{}, names)
	for range names {
		m.callable[r.name()] = struct{}{}
	}
	s := &m.skeleton
	s.Module = bytes.Clone(r.bytes(r.u32()))
	s.Functions = make([]uint32, r.count())
	for i := range s.Functions {
		s.Functions[i] = r.u32()
	}
	s.Data = make([]Segment, r.count())
	for i := range s.Data {
		s.Data[i] = Segment{r.u32(), bytes.Clone(r.bytes(r.u32()))}
	}
	if r.at != r.end || !bytes.Equal(m.Encode(), encoded) || !s.dataIn(m.pages) || m.pages > m.maxPages ||
		m.maxPages > maxPages {
		return nil, errEncoding
	}
	return m, nil
}

// dataIn reports whether the data segments fit in the given number of pages.
func (s *Skeleton) dataIn(pages uint32) bool {
	for _, d := range s.Data {
		if uint64(d.Offset)+uint64(len(d.Bytes)) > uint64(pages)<<16 {
			return false
		}
	}
	return true
}
