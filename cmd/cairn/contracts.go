package main

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/types"
)

// contractSettings are the settings of what runs contracts.
type contractSettings struct {
	CodeMemory uint64 `setting:"code-memory-mib" usage:"MiB of memory for contracts' compiled code and for instances that wait for a call"`
	CodeDisk   uint64 `setting:"code-disk-mib" usage:"MiB of disk for contracts' compiled code"`
	ViewGas    uint64 `setting:"view-gas" usage:"gas that a call may use that is not sent: svc_viewCall, svc_call"`
}

func defaultContracts() contractSettings {
	return contractSettings{
		CodeMemory: datadir.DefaultCodeMemory >> 20, CodeDisk: datadir.DefaultCodeDisk >> 20,
		ViewGas: uint64(rpc.DefaultViewGas),
	}
}

// set checks the settings and puts them where they belong.
func (s contractSettings) set(options *datadir.Options, serving *node.Serving) error {
	for _, setting := range []struct {
		name               string
		value, least, most uint64
	}{
		{"--code-memory-mib", s.CodeMemory, 16, 1 << 20},
		{"--code-disk-mib", s.CodeDisk, 16, 1 << 30},
		{"--view-gas", s.ViewGas, 100_000, 1_000_000_000},
	} {
		if setting.value < setting.least || setting.value > setting.most {
			return output.Usage(fmt.Errorf("%s is %d to %d, not %d", setting.name, setting.least, setting.most, setting.value))
		}
	}
	options.CodeMemory, options.CodeDisk = int(s.CodeMemory)<<20, int64(s.CodeDisk)<<20
	serving.ViewGas = types.Gas(s.ViewGas)
	return nil
}
