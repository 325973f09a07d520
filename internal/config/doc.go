// Package config loads a command's settings. Flags override environment variables, which override a TOML file, which
// overrides the defaults.
//
// A program declares its settings once, as a flat struct that holds the defaults:
//
//	type settings struct {
//		RPCURL  string        `setting:"rpc-url" usage:"URL of the node's JSON-RPC"`
//		Timeout time.Duration `setting:"timeout" bounds:"0,1s..1h" usage:"the longest to wait"`
//	}
//
// The tag is the setting's only name. It gives the flag --rpc-url, the variable CAIRN_RPC_URL (with the prefix CAIRN_),
// and the key rpc-url of the file. Fields are strings, lists of strings, booleans, integers, unsigned integers (64
// bits) or durations. A list is written "a,b" in a variable. Numbers and durations may have bounds, which apply to all
// sources.
package config
