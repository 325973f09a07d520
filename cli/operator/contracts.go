package operator

import (
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/types"
)

// contractSettings are the settings for the execution of contracts.
type contractSettings struct {
	CodeMemory uint64 `setting:"code-memory-mib" bounds:"16..1048576" usage:"MiB of memory for contracts' compiled code and idle instances"`
	CodeDisk   uint64 `setting:"code-disk-mib" bounds:"16..1073741824" usage:"MiB of disk for contracts' compiled code"`
	ViewGas    uint64 `setting:"view-gas" bounds:"100000..1000000000" usage:"gas limit of calls that are not sent as transactions: svc_viewCall, svc_call"`
}

func defaultContracts() contractSettings {
	return contractSettings{
		CodeMemory: datadir.DefaultCodeMemory >> 20, CodeDisk: datadir.DefaultCodeDisk >> 20,
		ViewGas: uint64(rpc.DefaultViewGas),
	}
}

// set copies the settings into options and serving.
func (s contractSettings) set(options *datadir.Options, serving *node.Serving) {
	options.CodeMemory, options.CodeDisk = int(s.CodeMemory)<<20, int64(s.CodeDisk)<<20
	serving.ViewGas = types.Gas(s.ViewGas)
}
