// Package config loads a command's settings: flags over environment variables over a TOML file over defaults.
//
// A program describes its settings once, as a flat struct that holds the defaults:
//
//	type settings struct {
//		RPCURL  string        `setting:"rpc-url" usage:"URL of the node's JSON-RPC"`
//		Timeout time.Duration `setting:"timeout" bounds:"0,1s..1h" usage:"the longest to wait"`
//	}
//
// The tag is the setting's one name: the flag --rpc-url, with the prefix CAIRN_ the variable CAIRN_RPC_URL, and the
// key rpc-url of the file. Fields are strings, lists of strings, booleans, integers, unsigned integers (64 bits) or
// durations; a list is written "a,b" in a variable. Numbers and durations may have bounds, which hold for all sources.
package config
