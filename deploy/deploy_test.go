// Package deploy has the files that an operator installs beside the program. Its test compares the files with a node's
// exported metrics.
package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v2"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/server/provers"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/signer"
	"github.com/cairn-chain/cairn/types"
)

// newMember is a cluster of one.
func newMember(t *testing.T, genesis types.Genesis, key *crypto.PrivateKey) *node.Node {
	t.Helper()
	dir, err := datadir.Open(t.TempDir(), datadir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := dir.Engine()
	if err != nil {
		t.Fatal(err)
	}
	book, err := dir.Book()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Ledger(datadir.Chain{Genesis: &genesis}, book, engine); err != nil {
		t.Fatal(err)
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.InitCluster(datadir.Membership{Name: "a", Address: "127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	n, err := node.New(dir, node.Config{
		Chain: datadir.Chain{Genesis: &genesis},
		Role: role.Member{
			Production: role.Production{Key: role.LocalKey(*key), BlockTime: time.Second}, Addr: "127.0.0.1:0", MaxLag: 10,
		},
		Serving: node.Serving{RPCAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0"},
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// scrape runs a node, a node that follows it and a member of a cluster, and makes the first answer one good and one bad
// call and produce a block. It returns, by the name of each series in their /metrics, the series' labels. Series of a
// histogram have the names that queries use.
func scrape(t *testing.T) map[string][]string {
	t.Helper()
	development, err := datadir.NewDevelopment(api.DevelopmentMnemonic, 1)
	if err != nil {
		t.Fatal(err)
	}
	genesis := development.Genesis(uint64(time.Now().Unix()))
	made := make(chan struct{}, 1)
	dir, err := datadir.Open(t.TempDir(), datadir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(dir, node.Config{
		Chain: datadir.Chain{Genesis: &genesis},
		Role: role.Solo{Production: role.Production{
			Key: role.LocalKey(development.Producer), BlockTime: 10 * time.Millisecond, Development: development,
		}},
		Serving: node.Serving{RPCAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0"},
		Log:     slog.New(slog.DiscardHandler),
		OnBlock: func(types.SignedHeader, int) {
			select {
			case made <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = datadir.Open("", datadir.Options{}); err != nil {
		t.Fatal(err)
	}
	follower, err := node.New(dir, node.Config{
		Chain: datadir.Chain{Genesis: &genesis},
		Role: role.Follow{
			Following: role.Following{Upstreams: datadir.Upstreams{URLs: []string{n.RPCURL()}}}, Mode: api.ModeReplica,
		},
		Serving: node.Serving{RPCAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0"},
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	member := newMember(t, genesis, &development.Producer)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	for _, n := range []*node.Node{n, follower, member} {
		go func() { ended <- n.Run(ctx) }()
	}
	defer func() {
		stop()
		if err := errors.Join(<-ended, <-ended, <-ended); err != nil {
			t.Error(err)
		}
	}()
	<-made
	for _, method := range []string{"svc_chainId", "svc_noSuchMethod"} {
		body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":[]}`)
		response, err := http.Post(n.RPCURL(), "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	exported := map[string][]string{}
	for _, n := range []*node.Node{member, follower, n} {
		response, err := http.Get(n.Admin().URL + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(exported, parse(t, response.Body))
		_ = response.Body.Close()
	}
	maps.Copy(exported, scrapeProcesses(t))
	return exported
}

// scrapeProcesses returns the metrics of the processes that work for a node.
func scrapeProcesses(t *testing.T) map[string][]string {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	metrics := telemetry.NewProcess(build.Read(), log)
	node.SignerDurations(metrics)
	node.RegisterSigner(metrics, func() signer.Stats {
		stats := signer.Stats{Refused: map[string]uint64{}}
		for _, reason := range signer.Reasons() {
			stats.Refused[reason] = 0
		}
		return stats
	})
	node.RegisterProver(metrics, func() provers.Stats { return provers.Stats{} })
	answer := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return parse(t, answer.Body)
}

func parse(t *testing.T, exposition io.Reader) map[string][]string {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(exposition)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for name, family := range families {
		for _, metric := range family.Metric {
			var names []string
			for _, pair := range metric.Label {
				names = append(names, pair.GetName())
			}
			switch family.GetType() {
			case dto.MetricType_HISTOGRAM:
				labels[name+"_sum"], labels[name+"_count"] = names, names
				labels[name+"_bucket"] = append(slices.Clone(names), "le")
			case dto.MetricType_SUMMARY:
				labels[name+"_sum"], labels[name+"_count"] = names, names
				labels[name] = append(slices.Clone(names), "quantile")
			default:
				labels[name] = names
			}
		}
	}
	return labels
}

var (
	metricName = regexp.MustCompile(`\b(?:cairn|go|process)_[a-z0-9_]+\b|\bup\b`)
	// A series with its matchers, the lists after by, and the labels in legends.
	series   = regexp.MustCompile(`\b((?:cairn|go|process)_[a-z0-9_]+)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
	legend   = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}`)
)

// target holds the labels that Prometheus adds to every series.
var target = []string{"instance", "job"}

// check reports the mistakes of a query.
func check(t *testing.T, exported map[string][]string, where, query, caption string) {
	t.Helper()
	for _, mistake := range mistakes(exported, query, caption) {
		t.Errorf("%s: %s", where, mistake)
	}
}

// mistakes compares a query, and the labels that its caption names, with the exported metrics.
func mistakes(exported map[string][]string, query, caption string) (found []string) {
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	offered := slices.Clone(target)
	for _, name := range metricName.FindAllString(query, -1) {
		labels, ok := exported[name]
		if !ok && name != "up" { // Prometheus' own
			report("no node exports %s", name)
		}
		offered = append(offered, labels...)
	}
	for _, match := range series.FindAllStringSubmatch(query, -1) {
		for _, label := range matcher.FindAllStringSubmatch(match[2], -1) {
			if !slices.Contains(append(exported[match[1]], target...), label[1]) {
				report("%s has no label %s", match[1], label[1])
			}
		}
	}
	var named []string
	for _, list := range grouping.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(list[1], ",") {
			named = append(named, strings.TrimSpace(label))
		}
	}
	for _, label := range legend.FindAllStringSubmatch(caption, -1) {
		named = append(named, label[1])
	}
	for _, label := range named {
		if !slices.Contains(offered, label) {
			report("nothing in %q has a label %s", query, label)
		}
	}
	return found
}

// rules is a file of Prometheus' alert rules.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

func readRules(t *testing.T) rules {
	t.Helper()
	content, err := os.ReadFile("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var r rules
	if err := yaml.Unmarshal(content, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// The actions of the alerts on refusals cover every cause that their metrics can have.
func TestEveryRefusalHasAnAction(t *testing.T) {
	refusals := map[string][]string{"CairnClusterStranger": p2p.Causes(), "CairnSignerRefuses": signer.Reasons()}
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			explained := map[string]bool{}
			for _, sentence := range strings.Split(rule.Annotations["action"], ". ") {
				causes, does, is := strings.Cut(sentence, ": ")
				for _, cause := range strings.Split(causes, ", ") {
					explained[cause] = is && does != ""
				}
			}
			for _, cause := range refusals[rule.Alert] {
				if !explained[cause] {
					t.Errorf("the action of %s does not say what to do about cause %q", rule.Alert, cause)
				}
			}
			delete(refusals, rule.Alert)
		}
	}
	for alert := range refusals {
		t.Errorf("there is no alert %s", alert)
	}
}

// The example of a scrape configuration has a job, perhaps in a comment, for each job in the alerts.
func TestEveryJobIsInTheExample(t *testing.T) {
	example, err := os.ReadFile("prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			for _, job := range regexp.MustCompile(`job="([^"]*)"`).FindAllStringSubmatch(rule.Expr, -1) {
				if !regexp.MustCompile(`job_name: ` + job[1] + `\b( |\n)`).Match(example) {
					t.Errorf("alert %s asks for the job %s, which prometheus.yml has not", rule.Alert, job[1])
				}
			}
		}
	}
}

// dashboard is the part of Grafana's format that queries.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct {
			Name              string
			Multi, IncludeAll bool
		}
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	content, err := os.ReadFile("grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The dashboard shows the quantity that each alert uses, for one node or for all, each under its own name.
func TestDashboardShowsWhatAlertsAsk(t *testing.T) {
	d := readDashboard(t)
	shown := map[string]bool{}
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				shown[name] = true
			}
			if !strings.Contains(target.Expr, `instance=~"$instance"`) {
				t.Errorf("panel %s: %s is not of the chosen nodes", panel.Title, target.Expr)
			}
			if !strings.Contains(target.LegendFormat, "{{instance}}") {
				t.Errorf("panel %s: the legend %q does not name the node", panel.Title, target.LegendFormat)
			}
			for _, list := range grouping.FindAllStringSubmatch(target.Expr, -1) {
				if !strings.Contains(list[1], "instance") {
					t.Errorf("panel %s: %s adds up several nodes", panel.Title, target.Expr)
				}
			}
		}
	}
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			for _, name := range metricName.FindAllString(rule.Expr, -1) {
				if !shown[name] {
					t.Errorf("alert %s asks for %s, which no panel shows", rule.Alert, name)
				}
			}
		}
	}
	several := false
	for _, v := range d.Templating.List {
		several = several || v.Name == "instance" && v.Multi && v.IncludeAll
	}
	if !several {
		t.Errorf("got the selectors %+v, want one of several instances with all", d.Templating.List)
	}
}

func TestQueriesAskForWhatIsExported(t *testing.T) {
	exported := scrape(t)
	d := readDashboard(t)
	queries := 0
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			check(t, exported, "panel "+panel.Title, target.Expr, target.LegendFormat)
			queries++
		}
	}
	if queries < 50 {
		t.Errorf("the dashboard has %d queries", queries)
	}
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			check(t, exported, "alert "+rule.Alert, rule.Expr, rule.Annotations["summary"])
			if rule.Annotations["action"] == "" || rule.Labels["severity"] == "" {
				t.Errorf("alert %s says not what to do, or how urgent it is", rule.Alert)
			}
		}
	}
	checkDocumented(t, exported)
}

// checkDocumented compares the page of settings and metrics with the exported metrics and the alerts: it has every one
// and no other.
func checkDocumented(t *testing.T, exported map[string][]string) {
	t.Helper()
	page, err := os.ReadFile("../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, name := range regexp.MustCompile("`(cairn_[a-z0-9_]+)").FindAllStringSubmatch(string(page), -1) {
		described[name[1]] = true
	}
	family := regexp.MustCompile(`_(bucket|sum|count)$`)
	names := map[string]bool{}
	for name := range exported {
		if base := family.ReplaceAllString(name, ""); exported[base+"_bucket"] != nil {
			name = base
		}
		names[name] = true
		if strings.HasPrefix(name, "cairn_") && !described[name] {
			t.Errorf("docs/settings.md does not describe %s", name)
		}
	}
	for name := range described {
		if !names[name] {
			t.Errorf("docs/settings.md describes %s, which is not exported", name)
		}
	}
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			if !strings.Contains(string(page), "`"+rule.Alert+"`") {
				t.Errorf("docs/settings.md does not name the alert %s", rule.Alert)
			}
		}
	}
}

func TestMistakesAreFound(t *testing.T) {
	exported := map[string][]string{"cairn_height": nil, "cairn_errors_total": {"code"}}
	for query, want := range map[string]bool{
		`cairn_height`: true, `rate(cairn_errors_total{code="1"}[5m])`: true, `sum by (code) (cairn_errors_total)`: true,
		`cairn_hight`: false, `cairn_height{code="1"}`: false, `sum by (method) (cairn_errors_total)`: false,
	} {
		if got := len(mistakes(exported, query, "")) == 0; got != want {
			t.Errorf("%s: fine is %v, want %v", query, got, want)
		}
	}
	if len(mistakes(exported, "cairn_height", "{{code}}")) == 0 {
		t.Error("a legend of a label that is not there passes")
	}
}
