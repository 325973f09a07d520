package members

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/server/admin"
)

// noted records its requests.
type noted struct {
	asked []string
	fail  error
}

func (n *noted) Status() Status {
	return Status{Self: "a", Members: []Member{{Name: "a", Voter: true}}}
}
func (n *noted) Add(_ context.Context, a Addition) error {
	n.asked = append(n.asked, "add "+a.Name+" "+a.Address+" "+a.Pin)
	return n.fail
}
func (n *noted) Remove(_ context.Context, name string) error {
	n.asked = append(n.asked, "remove "+name)
	return n.fail
}
func (n *noted) Transfer(_ context.Context, name string) error {
	n.asked = append(n.asked, "transfer "+name)
	return n.fail
}

// served serves a cluster, without the checks of the admin address.
func served(c Cluster) *httptest.Server {
	mux := http.NewServeMux()
	for _, route := range Routes(c) {
		mux.HandleFunc(route.Pattern, route.Serve)
	}
	return httptest.NewServer(mux)
}

func TestCommands(t *testing.T) {
	n := new(noted)
	server := served(n)
	defer server.Close()
	c, ctx := Client{admin.Client{URL: server.URL + "/"}}, t.Context()
	if s, err := c.Status(ctx); err != nil || s.Self != "a" || len(s.Members) != 1 || !s.Members[0].Voter {
		t.Errorf("status %+v, error %v", s, err)
	}
	for _, err := range []error{
		c.Add(ctx, Addition{Name: "b", Address: "h:1", Pin: "00"}), c.Remove(ctx, "b"), c.Transfer(ctx, ""),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(n.asked, ", "); got != "add b h:1 00, remove b, transfer " {
		t.Errorf("asked: %s, want add b h:1 00, remove b, transfer ", got)
	}
	n.fail = errors.New("there is no b")
	if err := c.Remove(ctx, "b"); err == nil || err.Error() != "there is no b" {
		t.Errorf("a refusal: error %v", err)
	}
}

func TestWhatIsNoRequest(t *testing.T) {
	n := new(noted)
	server := served(n)
	defer server.Close()
	for name, tc := range map[string]struct {
		body string
		want int
	}{
		"no JSON":       {"name", http.StatusBadRequest},
		"another field": {`{"nam":"b"}`, http.StatusBadRequest},
		"a long one":    {`{"name":"` + strings.Repeat("b", maxRequest) + `"}`, http.StatusBadRequest},
	} {
		response, err := http.Post(server.URL+removePath, admin.JSON, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only its status matters
		if response.StatusCode != tc.want || len(n.asked) > 0 {
			t.Errorf("%s: %s, asked %v", name, response.Status, n.asked)
		}
	}
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	if _, err := (Client{admin.Client{URL: empty.URL}}).Status(t.Context()); !errors.Is(err, ErrNoCluster) {
		t.Errorf("a node of no cluster: error %v, want %v", err, ErrNoCluster)
	}
}
