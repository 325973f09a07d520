package jsonrpc_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// quota is a jsonrpc.Quota of functions.
type quota struct {
	room   func(bytes int) int
	charge func(calls int)
}

func (q quota) Room(bytes int) int { return q.room(bytes) }
func (q quota) Charge(calls int)   { q.charge(calls) }

// limited returns the options of a server whose requests all have the quota.
func limited(q quota) jsonrpc.Options {
	return jsonrpc.Options{Quota: func(context.Context) jsonrpc.Quota { return q }}
}

// Room is requested as the answer grows, and a call without room is answered with an error; no later call is made.
func TestRoom(t *testing.T) {
	const none, some, much = 6 << 10, 20 << 10, 40 << 10
	var asked []int
	room := 0
	s := newServer(t, limited(quota{room: func(bytes int) int {
		asked = append(asked, bytes)
		return room
	}, charge: func(int) {}}))
	busy := func(id string) string {
		return failure(id, -32040, "the server has no memory for a larger response: try again later", `{"reason":"busy"}`)
	}
	sized := func(id string, bytes int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"size","params":[%d],"id":%s}`, bytes, id)
	}
	full := func(id string, bytes int) string { return result(id, `"`+strings.Repeat("x", bytes)+`"`) }
	frame := len(full("1", 0))
	for _, test := range []struct {
		name  string
		room  int
		body  string
		want  string
		asked []int
	}{
		{"small", 0, sized("1", none), full("1", none), nil},
		{"room", 2 * some, sized("1", some), full("1", some), []int{some + frame}},
		{"exact", some + frame, sized("1", some), full("1", some), []int{some + frame}},
		{"no room", some + frame - 1, sized("1", some), busy("1"), []int{some + frame}},
		{
			"asked once", much, "[" + sized("1", some) + "," + sized("2", 1) + "]",
			"[" + full("1", some) + "," + full("2", 1) + "]", []int{1 + some + frame},
		},
		{"as it grows", some + frame + 1, "[" + sized("1", some) + "," + sized("2", 1) + "," + sized("3", 1) + "]",
			"[" + full("1", some) + "," + busy("2") + "," + busy("3") +
				"]", []int{1 + some + frame, 1 + some + frame + 1 + frame + 1}},
		{"the rest is refused", 0, "[" + sized("1", 5) + "," + sized("2", some) + "," + sized("3", 5) + "]",
			"[" + full("1", 5) + "," + busy("2") + "," + busy("3") + "]", []int{1 + frame + 5 + 1 + some + frame}},
	} {
		asked, room = nil, test.room
		prefix := strings.Repeat("p", 2*some) // earlier contents of dst are not part of the answer
		got := string(s.Append(context.Background(), []byte(test.body), []byte(prefix)))
		// The whole capacity of the buffer is requested, because it is used as a whole.
		enough := slices.EqualFunc(asked, test.asked, func(got, want int) bool { return got >= want })
		if got != prefix+test.want || !enough {
			t.Errorf("%s: asked for %v, want at least %v; %.100s", test.name, asked, test.asked, got[len(prefix):])
		}
	}
}

// Calls in an ended context are answered with its cause if that is an Error.
func TestCauseAnswersCalls(t *testing.T) {
	s := newServer(t, jsonrpc.Options{})
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(jsonrpc.NewError(jsonrpc.CodeLimit, "too many calls", "reason", "rate"))
	call := `{"jsonrpc":"2.0","method":"sum","params":[1,2],"id":7}`
	want := failure("7", -32040, "too many calls", `{"reason":"rate"}`)
	if got := string(s.Serve(ctx, []byte(call))); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := string(s.Serve(ctx, []byte("["+call+"]"))); got != "["+want+"]" {
		t.Errorf("%s, want %s", got, "["+want+"]")
	}
}

// The quota is charged for the elements of a batch, whatever they are.
func TestBatchesAreCharged(t *testing.T) {
	var told []int
	s := newServer(t, limited(quota{
		room: func(bytes int) int { return bytes }, charge: func(calls int) { told = append(told, calls) },
	}))
	call := `{"jsonrpc":"2.0","method":"sum","params":[1,2],"id":7}`
	for _, test := range []struct {
		body string
		want []int
	}{
		{call, nil},
		{"[" + call + "," + call + "]", []int{2}},
		{"[1,1,1]", []int{3}},
		{`["{{{{"]`, []int{1}},
		{"[1" + strings.Repeat(",1", 2000) + "]", []int{2001}},
	} {
		told = nil
		s.Serve(context.Background(), []byte(test.body))
		if !slices.Equal(told, test.want) {
			t.Errorf("%.20s: charged %v, want %v", test.body, told, test.want)
		}
	}
}
