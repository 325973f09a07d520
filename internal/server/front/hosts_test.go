package front

import "testing"

func TestHosts(t *testing.T) {
	local, named, both, any := NewHosts(nil, true), NewHosts([]string{"RPC.example:1"}, false),
		NewHosts([]string{"node"}, true), NewHosts([]string{"*"}, false)
	for host, want := range map[string][4]bool{ // local, named, both, any
		"":                  {true, true, true, true},
		"localhost":         {true, false, true, true},
		"LocalHost:8778":    {true, false, true, true},
		"a.localhost":       {true, false, true, true},
		"localhost.evil":    {false, false, false, true},
		"evil-localhost":    {false, false, false, true},
		"127.0.0.1:8778":    {true, false, true, true},
		"10.1.2.3":          {true, false, true, true},
		"[::1]:8778":        {true, false, true, true},
		"127.0.0.1.evil":    {false, false, false, true},
		"rpc.example:8777":  {false, true, false, true},
		"a.rpc.example":     {false, false, false, true},
		"node:1":            {false, false, true, true},
		"evil.example:8778": {false, false, false, true},
	} {
		if got := [4]bool{local.Allow(host), named.Allow(host), both.Allow(host), any.Allow(host)}; got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}
