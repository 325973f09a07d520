package terminal

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func TestNobodyThere(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, in := range map[string]io.Reader{"no file": strings.NewReader("secret\n"), "no terminal": file} {
		var out strings.Builder
		terminal := New(in, &out)
		if answer, err := terminal.Secret(t.Context(), "Password: "); !errors.Is(err, ErrNone) || answer != "" {
			t.Errorf("%s: got %q, want none, error %v, want %v", name, answer, err, ErrNone)
		}
		if answer, err := terminal.Line(t.Context(), "Name: "); !errors.Is(err, ErrNone) || answer != "" {
			t.Errorf("%s: got %q, want none, error %v, want %v", name, answer, err, ErrNone)
		}
		if out.Len() != 0 {
			t.Errorf("%s: asked %q", name, out.String())
		}
	}
}

func TestContextEndsAQuestion(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never := make(chan struct{})
	defer close(never)
	terminal := &Terminal{out: io.Discard}
	_, err := terminal.ask(ctx, "Name: ", func() (string, error) {
		<-never
		return "", nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
