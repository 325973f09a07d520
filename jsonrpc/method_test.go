package jsonrpc_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

func TestNewServerRefuses(t *testing.T) {
	type optionalFirst struct {
		A *int `json:"a" jsonrpc:"optional"`
		B int  `json:"b"`
	}
	type badTag struct {
		A int `json:"a" jsonrpc:"maybe"`
	}
	type sameName struct {
		A int `json:"B"`
		B int
	}
	type embedding struct{ filter }
	type inner struct {
		F struct{ filter } `json:"f"`
	}
	type array struct {
		A [2]int `json:"a"`
	}
	type channel struct {
		A []map[string]chan int `json:"a"`
	}
	none := func(context.Context, struct{}) (int, error) { return 0, nil }
	for _, test := range []struct {
		name    string
		options jsonrpc.Options
		methods []jsonrpc.Method
		want    string
	}{
		{
			"duplicate", jsonrpc.Options{}, []jsonrpc.Method{jsonrpc.NewMethod("a", none), jsonrpc.NewMethod("a", none)},
			"duplicate",
		},
		{"zero method", jsonrpc.Options{}, []jsonrpc.Method{{}}, "NewMethod"},
		{"no name", jsonrpc.Options{}, []jsonrpc.Method{jsonrpc.NewMethod("", none)}, "needs a name"},
		{"no function", jsonrpc.Options{}, []jsonrpc.Method{jsonrpc.NewMethod[struct{}, int]("a", nil)}, "a function"},
		{"no struct", jsonrpc.Options{}, []jsonrpc.Method{methodOf[[]int]()}, "not a struct"},
		{"required after optional", jsonrpc.Options{}, []jsonrpc.Method{methodOf[optionalFirst]()}, "required after"},
		{"unknown tag", jsonrpc.Options{}, []jsonrpc.Method{methodOf[badTag]()}, "maybe"},
		{"same name", jsonrpc.Options{}, []jsonrpc.Method{methodOf[sameName]()}, "duplicated"},
		{"embedding", jsonrpc.Options{}, []jsonrpc.Method{methodOf[embedding]()}, "embed"},
		{"inner embedding", jsonrpc.Options{}, []jsonrpc.Method{methodOf[inner]()}, "embed"},
		{"array", jsonrpc.Options{}, []jsonrpc.Method{methodOf[array]()}, "without loss"},
		{"channel", jsonrpc.Options{}, []jsonrpc.Method{methodOf[channel]()}, "without loss"},
		{"negative limit", jsonrpc.Options{MaxBatch: -1}, nil, "negative"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := jsonrpc.NewServer(test.options, test.methods...); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func methodOf[P any]() jsonrpc.Method {
	return jsonrpc.NewMethod("m", func(context.Context, P) (int, error) { return 0, nil })
}

func TestMethodDescribesItself(t *testing.T) {
	m := testMethods()[1]
	want := []jsonrpc.ParamInfo{
		{Name: "a", Type: reflect.TypeFor[uint64]()},
		{Name: "b", Type: reflect.TypeFor[*uint64](), Optional: true},
		{Name: "c", Type: reflect.TypeFor[uint8](), Optional: true},
	}
	if m.Name() != "sum" || !reflect.DeepEqual(m.Params(), want) || m.Result() != reflect.TypeFor[uint64]() {
		t.Errorf("got %s %v %v", m.Name(), m.Params(), m.Result())
	}
}
