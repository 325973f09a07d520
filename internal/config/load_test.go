package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

type testSettings struct {
	RPCURL    string        `setting:"rpc-url" usage:"URL of the node"`
	Upstream  []string      `setting:"upstream" usage:"URLs"`
	Ephemeral bool          `setting:"ephemeral"`
	Accounts  int           `setting:"accounts"`
	ChainID   uint64        `setting:"chain-id"`
	BlockTime time.Duration `setting:"block-time"`
	Other     string        // no setting
}

func defaults() *testSettings {
	return &testSettings{RPCURL: "http://default", Accounts: 10, BlockTime: time.Second, Other: "kept"}
}

func flagsOf(t *testing.T, settings *testSettings, args ...string) *pflag.FlagSet {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.Bool("json", false, "a flag that is no setting")
	Register(flags, settings)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return flags
}

func tomlFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cairn.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func environ(variables ...string) func() []string {
	return func() []string { return variables }
}

func TestPrecedence(t *testing.T) {
	tests := []struct {
		name string
		args []string
		env  []string
		file string
		want string
	}{
		{"default", nil, nil, "", "http://default"},
		{"file", nil, nil, `rpc-url = "http://file"`, "http://file"},
		{"environment", nil, []string{"CAIRN_RPC_URL=http://env"}, `rpc-url = "http://file"`, "http://env"},
		{
			"flag", []string{"--rpc-url", "http://flag"}, []string{"CAIRN_RPC_URL=http://env"}, `rpc-url = "http://file"`,
			"http://flag",
		},
		{
			"flag with the default's value", []string{"--rpc-url", "http://default"}, []string{"CAIRN_RPC_URL=http://env"}, "",
			"http://default",
		},
		{"empty variable", nil, []string{"CAIRN_RPC_URL="}, `rpc-url = "http://file"`, ""},
		{"another program's variable", nil, []string{"RPC_URL=http://env", "CAIRN_RPC=x"}, "", "http://default"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings := defaults()
			sources := Sources{Flags: flagsOf(t, settings, test.args...), Env: "CAIRN_", Environ: environ(test.env...)}
			if test.file != "" {
				sources.File = tomlFile(t, test.file)
			}
			if err := Load(settings, sources); err != nil {
				t.Fatal(err)
			}
			if settings.RPCURL != test.want || settings.Other != "kept" {
				t.Errorf("rpc-url = %q, want %q; other = %q", settings.RPCURL, test.want, settings.Other)
			}
		})
	}
}

func TestEveryKindFromEverySource(t *testing.T) {
	want := &testSettings{
		RPCURL:    "http://x",
		Upstream:  []string{"a", "b"},
		Ephemeral: true,
		Accounts:  -3,
		ChainID:   1<<63 - 1,
		BlockTime: 1500 * time.Millisecond,
		Other:     "kept",
	}
	t.Run("flags", func(t *testing.T) {
		settings := defaults()
		flags := flagsOf(t, settings, "--rpc-url=http://x", "--upstream=a", "--upstream=b", "--ephemeral", "--accounts=-3",
			"--chain-id=9223372036854775807", "--block-time=1.5s")
		if err := Load(settings, Sources{Flags: flags}); err != nil || !reflect.DeepEqual(settings, want) {
			t.Errorf("got %+v, want %+v, error %v", settings, want, err)
		}
	})
	t.Run("environment", func(t *testing.T) {
		settings := defaults()
		variables := environ("CAIRN_RPC_URL=http://x", "CAIRN_UPSTREAM=a,b", "CAIRN_EPHEMERAL=true", "CAIRN_ACCOUNTS=-3",
			"CAIRN_CHAIN_ID=9223372036854775807", "CAIRN_BLOCK_TIME=1.5s")
		if err := Load(settings, Sources{Env: "CAIRN_", Environ: variables}); err != nil ||
			!reflect.DeepEqual(settings, want) {
			t.Errorf("got %+v, error %v", settings, err)
		}
	})
	t.Run("file", func(t *testing.T) {
		settings := defaults()
		path := tomlFile(t, `rpc-url = "http://x"
upstream = ["a", "b"]
ephemeral = true
accounts = -3
chain-id = 9223372036854775807
block-time = "1.5s"`)
		if err := Load(settings, Sources{File: path}); err != nil || !reflect.DeepEqual(settings, want) {
			t.Errorf("got %+v, want %+v, error %v", settings, want, err)
		}
	})
}

func TestZeroDurationNeedsNoUnit(t *testing.T) {
	settings := defaults()
	if err := Load(settings, Sources{File: tomlFile(t, "block-time = 0")}); err != nil || settings.BlockTime != 0 {
		t.Errorf("got %v, want 0, error %v", settings.BlockTime, err)
	}
}

func TestBadSettings(t *testing.T) {
	tests := []struct {
		name, env, file string
		want            string // a part of the error
	}{
		{"unknown key", "", `rpc-ulr = "http://x"`, `no setting "rpc-ulr"`},
		{"unknown table", "", "[rpc]\nurl = 1", `no setting "rpc.url"`},
		{"key of a field without a tag", "", `Other = "x"`, `no setting "Other"`},
		{"duration without a unit", "", "block-time = 5", `block-time: 5 is not a duration such as "1s"`},
		{"fraction for an integer", "", "accounts = 1.5", "accounts: 1.5 is not a whole number"},
		{"list for a text", "", `rpc-url = ["a"]`, "rpc-url: "},
		{"number in a list", "", "upstream = [1]", "upstream: "},
		{"table for a text", "", "[rpc-url]\n", "rpc-url: "},
		{"negative", "CAIRN_CHAIN_ID=-1", "", `CAIRN_CHAIN_ID: "-1" is not a whole number of at least 0`},
		{"no boolean", "CAIRN_EPHEMERAL=maybe", "", `CAIRN_EPHEMERAL: "maybe" is not true or false`},
		{"no duration", "CAIRN_BLOCK_TIME=soon", "", `CAIRN_BLOCK_TIME: "soon"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sources := Sources{Env: "CAIRN_", Environ: environ(test.env)}
			if test.file != "" {
				sources.File = tomlFile(t, test.file)
			}
			err := Load(defaults(), sources)
			if !errors.Is(err, ErrBadSetting) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
		})
	}
}

// A variable that names no setting gets the nearest name as a suggestion; variables of other programs are ignored.
func TestUnknownVariables(t *testing.T) {
	for variable, want := range map[string]string{
		"CAIRN_RPC_ULR=x":            "CAIRN_RPC_ULR: there is no such setting; is CAIRN_RPC_URL meant?",
		"CAIRN_RPCURL=x":             "CAIRN_RPCURL: there is no such setting; is CAIRN_RPC_URL meant?",
		"CAIRN_RETENTON=5":           "CAIRN_RETENTON: there is no such setting; is CAIRN_RETENTION meant?",
		"CAIRN_SOMETHING_ELSE=x":     "CAIRN_SOMETHING_ELSE: there is no such setting",
		"CAIRN_=x":                   "CAIRN_: there is no such setting",
		"CAIRN_RETENTION=5":          "",
		"CAIRN_RPC_URL=http://x":     "",
		"CAIRN_SERVICE_HOST=1.2.3.4": "",
		"CAIRN_PORT_8777_TCP=x":      "",
		"CAIRO_RPC_ULR=x":            "",
	} {
		known := []string{"retention", "data-dir", "rpc-url"}
		if got := strings.Join(Unknown("CAIRN_", known, []string{"A=b", variable}), ", "); got != want {
			t.Errorf("%s: got %q, want %q", variable, got, want)
		}
	}
}

// A number or a duration must be one of the values in its tag, which includes both ends of a range, whatever the
// source.
func TestBounds(t *testing.T) {
	type bounded struct {
		Time  time.Duration `setting:"time" bounds:"0,10ms..1h" usage:"a time"`
		Count uint64        `setting:"count" bounds:"2..4" usage:"a count"`
		Bits  int           `setting:"bits" bounds:"100,128" usage:"bits"`
	}
	for given, want := range map[string]string{
		"T_TIME=0": "", "T_TIME=10ms": "", "T_TIME=1h": "", "T_COUNT=2": "", "T_COUNT=4": "", "T_BITS=100": "", "T_BITS=128": "",
		"T_TIME=-1s":                   "T_TIME must be 0, or from 10ms to 1h, not -1s",
		"T_TIME=9ms":                   "T_TIME must be 0, or from 10ms to 1h, not 9ms",
		"T_TIME=3601s":                 "T_TIME must be 0, or from 10ms to 1h, not 1h0m1s",
		"T_COUNT=1":                    "T_COUNT must be from 2 to 4, not 1",
		"T_COUNT=5":                    "T_COUNT must be from 2 to 4, not 5",
		"T_COUNT=18446744073709551615": "T_COUNT must be from 2 to 4, not 18446744073709551615",
		"T_BITS=101":                   "T_BITS must be 100, or 128, not 101",
	} {
		settings := bounded{Time: time.Second, Count: 3, Bits: 100}
		err := Load(&settings, Sources{Env: "T_", Environ: environ(given)})
		if want == "" && err != nil ||
			want != "" && (!errors.Is(err, ErrBadSetting) || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", given, err, want)
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	absent, broken := filepath.Join(t.TempDir(), "none.toml"), tomlFile(t, "# a comment\nrpc-url = = 1")
	for path, says := range map[string]string{absent: absent, broken: broken + ": line 2"} {
		if err := Load(defaults(), Sources{File: path}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want one that says %s", err, says)
		}
	}
}

func TestRegisterPart(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Register(flags, defaults(), "rpc-url", "block-time")
	if flags.Lookup("rpc-url").DefValue != "http://default" || flags.Lookup("rpc-url").Usage != "URL of the node" {
		t.Errorf("rpc-url: got %+v", flags.Lookup("rpc-url"))
	}
	if flags.Lookup("block-time") == nil || flags.Lookup("accounts") != nil {
		t.Error("other flags than the two asked for are declared")
	}
}

func TestMistakesOfTheProgram(t *testing.T) {
	tests := map[string]func(){
		"no pointer": func() { _ = Load(testSettings{}, Sources{}) },
		"unknown kind": func() {
			_ = Load(&struct {
				F float64 `setting:"f"`
			}{}, Sources{})
		},
		"unknown setting": func() { Register(pflag.NewFlagSet("", pflag.ContinueOnError), defaults(), "nope") },
	}
	for name, mistake := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			mistake()
		})
	}
}
