package session

import (
	"testing"
)

func TestHomeDirectory(t *testing.T) {
	t.Setenv("HOME", "/h")
	for variable, want := range map[string]string{
		"XDG_DATA_HOME=/data": "/data/cairn", "XDG_DATA_HOME=relative": "/h/.local/share/cairn",
		"X=": "/h/.local/share/cairn",
	} {
		if got := Home([]string{variable}); got != want {
			t.Errorf("%s: got %s, want %s", variable, got, want)
		}
	}
}
