package naivemeter

// signature holds the numbers of params and results of a type.
type signature struct{ params, results uint64 }

// module holds the parsed contents of a module.
type module struct {
	types     []signature
	functions []uint64 // type indices, imported functions first
	globals   []bool   // whether each is mutable
	segments  int      // number of data segments
	indices   uint64   // in element segments
	bodies    [][]byte // including their locals
}

// reader reads the binary format.
type reader struct {
	b  []byte
	at int
}

func (r *reader) byte() byte {
	r.at++
	return r.b[r.at-1]
}

// u reads a LEB128 number as unsigned. For a signed number only the length is right.
func (r *reader) u() (v uint64) {
	for shift := 0; ; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7F) << shift
		if b < 0x80 {
			return v
		}
	}
}

func (r *reader) bytes() []byte {
	n := int(r.u())
	r.at += n
	return r.b[r.at-n : r.at]
}

// constant reads an initial value or an offset: a constant and an end.
func (r *reader) constant() {
	r.byte()
	r.u()
	r.byte()
}

func sections(code []byte) *module {
	s := &module{}
	for outer := (reader{code, 8}); outer.at < len(code); {
		id := outer.byte()
		r := reader{b: outer.bytes()}
		if id == 0 {
			continue
		}
		for range r.u() {
			s.entry(id, &r)
		}
	}
	return s
}

// entry reads an entry of a section.
func (s *module) entry(id byte, r *reader) {
	switch id {
	case 1:
		r.byte()
		t := signature{params: uint64(len(r.bytes()))}
		t.results = uint64(len(r.bytes()))
		s.types = append(s.types, t)
	case 2:
		r.bytes()
		r.bytes()
		r.byte()
		s.functions = append(s.functions, r.u())
	case 3:
		s.functions = append(s.functions, r.u())
	case 6:
		r.byte()
		s.globals = append(s.globals, r.byte() == 1)
		r.constant()
	case 9:
		r.byte()
		r.constant()
		n := r.u()
		s.indices += n
		for range n {
			r.u()
		}
	case 10:
		s.bodies = append(s.bodies, r.bytes())
	case 11:
		r.byte()
		r.constant()
		r.bytes()
		s.segments++
	}
}

// read reads the instructions of a body.
func read(body []byte) (text []instruction) {
	for r := (reader{b: body}); r.at < len(body); {
		in := instruction{offset: r.at}
		in.opcode = r.byte()
		n := 0
		switch op := in.opcode; {
		case op == block, op == loop, op == ifs, op == br, op == brIf, op == call, op == i32Const, op == i64Const,
			op >= localGet && op <= globalSet, op == memorySize, op == memoryGrow:
			n = 1
		case op == callIndirect, op >= firstLoad && op <= lastStore:
			n = 2
		case op == brTable:
			in.immediates = []uint64{r.u()}
			n = int(in.immediates[0]) + 1
		}
		for range n {
			in.immediates = append(in.immediates, r.u())
		}
		text = append(text, in)
	}
	return text
}
