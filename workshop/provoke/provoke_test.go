package main

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEachAlertHasACause compares the causes with the shipped rules.
func TestEachAlertHasACause(t *testing.T) {
	shipped, err := os.ReadFile("../../deploy/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var alerts, covered []string
	for _, match := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(shipped), -1) {
		alerts = append(alerts, match[1])
	}
	for _, c := range causes {
		covered = append(covered, c.alert)
	}
	covered = slices.AppendSeq(covered, maps.Keys(causeless))
	slices.Sort(alerts)
	slices.Sort(covered)
	if !slices.Equal(alerts, covered) {
		t.Errorf("alerts are %v, with a cause %v", alerts, covered)
	}
}

func TestShorten(t *testing.T) {
	for rule, want := range map[string]string{
		"expr: rate(a_total[5m]) > 50\nfor: 10m": "expr: rate(a_total[5000ms]) > 50\nfor: 10000ms",
		"predict_linear(a[6h], 3 * 86400) < 0":   "predict_linear(a[360000ms], 3 * 1440) < 0",
		"for: 15s":                               "for: 250ms",
		"for: 10ms":                              "for: 10ms",
		`action: "for 5 m, or 2h"`:               `action: "for 5 m, or 2h"`,
	} {
		got, err := shorten(rule, 60)
		if err != nil || got != want {
			t.Errorf("%q: got %q, want %q, error %v", rule, got, want, err)
		}
	}
	if got, err := shorten("for: 1s", 1e6); err != nil || got != "for: 1ms" {
		t.Errorf("the shortest is %q, want for: 1ms, error %v", got, err)
	}
}

// TestShortenLeavesNothingLong finds text that looks like a duration in the shortened rules' expressions.
func TestShortenLeavesNothingLong(t *testing.T) {
	shipped, err := os.ReadFile("../../deploy/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	short, err := shorten(string(shipped), 60)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(short) {
		if !strings.Contains(line, "#") &&
			regexp.MustCompile(`\[\d+[smhdwy]\]|for: \d+[smhdwy]$|86400`).MatchString(strings.TrimSpace(line)) {
			t.Errorf("left as it was: %s", line)
		}
	}
	if strings.Count(short, "ms]") < 10 || strings.Count(short, "for: ") != strings.Count(string(shipped), "for: ") {
		t.Errorf("the rules are now\n%s", short)
	}
}

func TestFrame(t *testing.T) {
	if got := string(frame("hi")); got != "\x81\x82\x00\x00\x00\x00hi" {
		t.Errorf("%q", got)
	}
}

func TestFalsifyChangesEveryBlock(t *testing.T) {
	block := strings.Repeat("0", 400)
	answer := `{"result":[{"raw":"0x` + block + `"},{"raw":"0x` + strings.Repeat("a", 400) + `"}]}`
	got := string(falsify([]byte(answer)))
	if len(got) != len(answer) || strings.Contains(got, block) || strings.Contains(got, strings.Repeat("a", 400)) {
		t.Errorf("%s", got)
	}
	if short := `{"raw":"0x00"}`; string(falsify([]byte(short))) != short {
		t.Error("what is no block was changed")
	}
}
