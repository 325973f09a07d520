package tracing

import (
	"testing"
)

func TestLineOf(t *testing.T) {
	source := []byte("fn half() {\n    let less = count / by;\n}")
	for line, want := range map[int]string{0: "", 1: "fn half() {", 2: "let less = count / by;", 3: "}", 4: ""} {
		if got := lineOf(source, line); got != want {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
}
