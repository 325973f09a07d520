package contractbuild

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/contractsource"
)

// contract is a module with an imported host function, two functions, names and other sections. body is that of the
// second function.
func contract(body ...byte) []byte {
	body = append([]byte{0}, append(body, 0x0b)...)
	out := []byte(wasmHeader)
	out = appendSection(out, 1, []byte{2, 0x60, 0, 0, 0x60, 3, 0x7f, 0x7f, 0x7f, 1, 0x7f})
	out = appendSection(out, 3, []byte{2, 0, 0})
	out = appendSection(out, 5, []byte{1, 0, 1})
	out = appendSection(out, 7, append([]byte{2, 6}, "memory\x02\x00\x03add\x00\x01"...))
	out = appendCustom(out, abiSection, []byte(`{"functions":[]}`))
	code := append([]byte{2, 2, 0, 0x0b, byte(len(body))}, body...)
	out = appendSection(out, 10, code)
	out = appendCustom(out, "name", []byte("\x00\x02\x01t\x01\x11\x02\x00\x05first\x01\x07t::deep"))
	return appendCustom(out, "producers", []byte("rustc"))
}

func TestStrip(t *testing.T) {
	hash := contractsource.HashOf([]byte("source"))
	linked := contract(0x01)
	plain, err := strip(linked, nil)
	if err != nil {
		t.Fatal(err)
	}
	marked, err := strip(linked, &hash)
	if err != nil {
		t.Fatal(err)
	}
	if len(marked) != len(plain)+48 || !bytes.HasPrefix(marked, plain) {
		t.Errorf("the section of the source has %d bytes", len(marked)-len(plain))
	}
	if got, ok := SourceOf(marked); !ok || got != hash {
		t.Errorf("the source is %s, %v", got, ok)
	}
	if _, ok := SourceOf(plain); ok {
		t.Error("a source where none is said")
	}
	for _, gone := range []string{"producers", "deep"} {
		if bytes.Contains(plain, []byte(gone)) || !bytes.Contains(linked, []byte(gone)) {
			t.Errorf("%s is left", gone)
		}
	}
	if !bytes.Contains(plain, []byte(`cairn_abi{"functions":[]}`)) {
		t.Error("the ABI is gone")
	}
	if _, err := checkModule(plain, linked); err != nil {
		t.Errorf("a good contract: error %v", err)
	}
	for length := range len(linked) {
		if _, err := functionsOf(linked[:length]); err == nil && length < 8 {
			t.Errorf("%d bytes were read as a module", length)
		}
	}
}

func TestSourceOfRefuses(t *testing.T) {
	for name, content := range map[string][]byte{
		"short": append([]byte{1}, make([]byte, 31)...), "long": append([]byte{1}, make(
			[]byte, 33,
		)...), "other version": append([]byte{2}, make([]byte, 32)...),
	} {
		if _, ok := SourceOf(appendCustom([]byte(wasmHeader), SourceSection, content)); ok {
			t.Errorf("%s: read", name)
		}
	}
}

func TestRefusalNamesTheFunction(t *testing.T) {
	for name, c := range map[string]struct {
		body []byte
		want []string
	}{
		"floats":    {[]byte{0x43, 0, 0, 0, 0, 0x1a}, []string{"floats", "function t::deep"}},
		"types":     {[]byte{0x42, 0, 0x45, 0x1a}, []string{"another type", "function t::deep"}},
		"left over": {[]byte{0x41, 0}, []string{"left at the end", "function t::deep"}},
	} {
		linked := contract(c.body...)
		code, err := strip(linked, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = checkModule(code, linked)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, without %q", name, err, want)
			}
		}
	}
	// A fault outside functions names no function.
	linked := bytes.Replace(contract(), []byte("memory"), []byte("remory"), 1)
	if _, err := checkModule(linked, linked); err == nil || strings.Contains(err.Error(), "in the function") {
		t.Errorf("without memory: error %v, want an error and no %q", err, "in the function")
	}
}

func TestHoldsPath(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	for text, want := range map[string]string{
		"at src/lib.rs:3": "", "/home/ann/x/lib.rs": "/home/ann/", "/tmp/b1/source/lib.rs": "/tmp/b1", "/home/anna": "",
	} {
		if got, ok := holdsPath([]byte("\x00"+text+"\x00"), "/tmp/b1", ""); got != want || ok != (want != "") {
			t.Errorf("%s: %q", text, got)
		}
	}
}
