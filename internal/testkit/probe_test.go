package testkit

import (
	stdcrypto "crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/binary"
	"math/big"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// probe is a contract for the vectors whose exports each call one host function with what the arguments say. The
// arguments are twelve u64 and data, which are read to address 1024. The first ones are the function's parameters, the
// last one is the number of bytes from address 512 on that are returned. A result is stored at address 512 as a u64.
const (
	probeResult = 512
	probeArgs   = 1024
	probeData   = probeArgs + 12*8
	probeReturn = probeArgs + 11*8
)

func uleb(v uint64) []byte { return binary.AppendUvarint(nil, v) }

// sleb is a signed LEB128 of a number that is not negative.
func sleb(v uint64) (b []byte) {
	for v >= 0x40 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func vector(items ...[]byte) []byte {
	return append(uleb(uint64(len(items))), slices.Concat(items...)...)
}

func named(name string, rest ...byte) []byte {
	return append(append(uleb(uint64(len(name))), name...), rest...)
}

func section(id byte, content []byte) []byte {
	return append(append([]byte{id}, uleb(uint64(len(content)))...), content...)
}

// Instructions of the probe.
func i32Const(v uint64) []byte      { return append([]byte{0x41}, sleb(v)...) }
func callOf(f int) []byte           { return append([]byte{0x10}, uleb(uint64(f))...) }
func i32Load(at uint64) []byte      { return append([]byte{0x28, 2}, uleb(at)...) }
func i32Load8(at uint64) []byte     { return append([]byte{0x2d, 0}, uleb(at)...) }
func i64Load(at uint64) []byte      { return append([]byte{0x29, 3}, uleb(at)...) }
func i64Store(at uint64) []byte     { return append([]byte{0x37, 3}, uleb(at)...) }
func joined(parts ...[]byte) []byte { return slices.Concat(parts...) }

var (
	extendI32   = []byte{0xad}
	unreachable = []byte{0x00}
	end         = []byte{0x0b}
)

// probeCall calls a host function with the parameters of the arguments and returns what they ask for.
func probeCall(f vm.Function) []byte {
	host := vm.Functions[f]
	code := joined(i32Const(probeArgs), callOf(int(vm.ArgsRead)))
	if host.Result != 0 {
		code = append(code, i32Const(0)...)
	}
	for i, p := range host.Params {
		load := i32Load
		if p == vm.I64 {
			load = i64Load
		}
		code = joined(code, i32Const(0), load(probeArgs+8*uint64(i)))
	}
	code = append(code, callOf(int(f))...)
	switch host.Result {
	case vm.I32:
		code = joined(code, extendI32, i64Store(probeResult))
	case vm.I64:
		code = append(code, i64Store(probeResult)...)
	}
	return joined(code, i32Const(probeResult), i32Const(0), i32Load(probeReturn), callOf(int(vm.ReturnData)), end)
}

// probeInit stores its arguments under their first 8 bytes. Arguments that begin with ff trap, those with fe revert.
func probeInit() []byte {
	first := joined(i32Const(0), i32Load8(probeArgs))
	return joined(
		i32Const(probeArgs), callOf(int(vm.ArgsRead)),
		first, i32Const(255), []byte{0x46, 0x04, 0x40}, unreachable, end,
		first, i32Const(254), []byte{0x46, 0x04, 0x40},
		i32Const(probeArgs), callOf(int(vm.ArgsLen)), callOf(int(vm.Revert)), end,
		i32Const(probeArgs), i32Const(8), i32Const(probeArgs), callOf(int(vm.ArgsLen)), callOf(int(vm.StorageWrite)), end,
	)
}

// probeModule is a probe with some functions besides those of the host.
type probeModule struct {
	host  []vm.Function
	extra map[string][]byte // bodies by name
	pages byte
}

func (m probeModule) encode() []byte {
	var types, imports, functions, exports, bodies [][]byte
	value := func(types ...vm.ValueType) (b []byte) {
		for _, t := range types {
			b = append(b, byte(t))
		}
		return append(uleb(uint64(len(types))), b...)
	}
	for _, f := range vm.Functions {
		signature := append([]byte{0x60}, value(f.Params...)...)
		if f.Result != 0 {
			signature = append(signature, value(f.Result)...)
		} else {
			signature = append(signature, 0)
		}
		imports = append(imports, joined(named("cairn"), named(f.Name, 0), uleb(uint64(len(types)))))
		types = append(types, signature)
	}
	nothing := uleb(uint64(len(types)))
	types = append(types, []byte{0x60, 0, 0})
	add := func(name string, body []byte) {
		exports = append(exports, joined(named(name, 0), uleb(uint64(len(imports)+len(functions)))))
		functions = append(functions, nothing)
		body = append([]byte{0}, body...) // no locals
		bodies = append(bodies, append(uleb(uint64(len(body))), body...))
	}
	for _, f := range m.host {
		add(vm.Functions[f].Name, probeCall(f))
	}
	for _, name := range slices.Sorted(keysOf(m.extra)) {
		body := m.extra[name]
		if name == "recurse" {
			body = joined(callOf(len(imports)+len(functions)), end)
		}
		add(name, body)
	}
	exports = append(exports, named("memory", 2, 0))
	return joined(
		[]byte("\x00asm\x01\x00\x00\x00"), section(1, vector(types...)), section(2, vector(imports...)),
		section(3, vector(functions...)), section(5, []byte{1, 0, m.pages}), section(7, vector(exports...)),
		section(10, vector(bodies...)),
	)
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// probes are the modules of the vectors: one with all, one without init that may not be entered again, and one whose
// memory is as large as it may be.
func probes() (whole, plain, wide []byte) {
	var all []vm.Function
	for f := range vm.Functions {
		all = append(all, vm.Function(f))
	}
	grow := joined(
		i32Const(probeArgs), callOf(int(vm.ArgsRead)), i32Const(0), i32Const(0), i32Load(probeArgs), []byte{0x40, 0},
		extendI32, i64Store(probeResult), i32Const(probeResult), i32Const(8), callOf(int(vm.ReturnData)), end,
	)
	burn := []byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x0b}
	whole = probeModule{all, map[string][]byte{
		"init": probeInit(), "_reentrant": end, "trap": joined(unreachable, end), "burn": burn, "recurse": nil, "grow": grow,
	}, 1}.encode()
	some := []vm.Function{vm.Self, vm.Call, vm.StorageRead, vm.StorageWrite, vm.ReplaceCode, vm.IsView}
	plain = probeModule{some, nil, 1}.encode()
	wide = probeModule{[]vm.Function{vm.Call, vm.Create}, map[string][]byte{"_reentrant": end, "init": probeInit()}, 16}.encode()
	return whole, plain, wide
}

// naiveECDSA is a signature over secp256k1 with the lower s.
func naiveECDSA(secret, digest [32]byte) (r, s [32]byte) {
	nonce := sha256.Sum256(digest[:])
	k := number(nonce[:])
	x := new(big.Int).Mod(curveG.times(k).x, curveOrder)
	sum := new(big.Int).Mul(x, number(secret[:]))
	sum.Add(sum, number(digest[:])).Mul(sum, new(big.Int).ModInverse(k, curveOrder)).Mod(sum, curveOrder)
	if half := new(big.Int).Rsh(curveOrder, 1); sum.Cmp(half) > 0 {
		sum.Sub(curveOrder, sum)
	}
	return bytes32(x), bytes32(sum)
}

// deviceSignature signs over P-256 with a key that is the hash of a word.
func deviceSignature(t *testing.T, message string) (point [64]byte, digest [32]byte, signature [64]byte) {
	t.Helper()
	secret := sha256.Sum256([]byte("device"))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret[:])
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	digest = sha256.Sum256([]byte(message))
	der, err := key.Sign(nil, digest[:], stdcrypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	var parts struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &parts); err != nil {
		t.Fatal(err)
	}
	parts.R.FillBytes(signature[:32])
	parts.S.FillBytes(signature[32:])
	return [64]byte(public[1:]), digest, signature
}

// negateP256 replaces a number by the order less it.
func negateP256(s []byte) {
	new(big.Int).Sub(elliptic.P256().Params().N, number(s)).FillBytes(s)
}
