package sealed

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

type some struct {
	Text   string `json:"text"`
	Number int    `json:"number"`
}

// Sealed content is read back; with any byte changed, cut off or added it is damaged.
func TestEveryChangeIsDamage(t *testing.T) {
	want := some{"a text", 12}
	text, err := JSON(want)
	if err != nil || !json.Valid(text) {
		t.Fatalf("%s is no JSON, error %v", text, err)
	}
	var got some
	if err := ParseJSON(text, &got); err != nil || got != want {
		t.Errorf("read %+v, %v, want %+v", got, err, want)
	}
	everyChange(text, func(changed []byte) {
		if err := ParseJSON(changed, &got); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q is read as %+v, %v, want %v", changed, got, err, ErrDamaged)
		}
	})
	sealed := Bytes([]byte("some bytes"))
	if got, err := ParseBytes(sealed); err != nil || string(got) != "some bytes" {
		t.Errorf("read %q, %v, want some bytes", got, err)
	}
	everyChange(sealed, func(changed []byte) {
		if got, err := ParseBytes(changed); !errors.Is(err, ErrDamaged) {
			t.Errorf("%x is read as %q, %v, want %v", changed, got, err, ErrDamaged)
		}
	})
}

func everyChange(content []byte, try func(changed []byte)) {
	for i := range content {
		flipped := bytes.Clone(content)
		flipped[i] ^= 1 << (i % 8)
		try(flipped)
		try(content[:i])
	}
	try(append(bytes.Clone(content), 0))
}
