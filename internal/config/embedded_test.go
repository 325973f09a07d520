package config_test

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/cairn-chain/cairn/internal/config"
)

type inner struct {
	Name string `setting:"name" usage:"a name"`
}

// Settings of an embedded struct belong to the outer struct, from flags and from the environment.
func TestEmbeddedSettings(t *testing.T) {
	var settings struct {
		inner
		Count int `setting:"count" usage:"a count"`
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.Register(flags, &settings)
	if err := flags.Parse([]string{"--name", "flag"}); err != nil {
		t.Fatal(err)
	}
	environ := func() []string { return []string{"T_NAME=env", "T_COUNT=3"} }
	if err := config.Load(&settings, config.Sources{Flags: flags, Env: "T_", Environ: environ}); err != nil {
		t.Fatal(err)
	}
	if settings.Name != "flag" || settings.Count != 3 {
		t.Errorf("got %+v, want Name flag and Count 3", settings)
	}
}
