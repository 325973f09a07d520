package vm

import "github.com/cairn-chain/cairn/types"

// InitFunction is the export that runs once, in the deploy; it cannot be called otherwise.
const InitFunction = "init"

// Module is a module that [Check] accepted. It is immutable and safe for concurrent use.
type Module struct {
	code         []byte
	instrumented []byte
	deployGas    types.Gas
	pages        uint32
	maxPages     uint32
	callable     map[string]struct{}
	hasInit      bool
	reentrant    bool
}

// DeployGas is what a deploy of this code takes in execution, before init runs.
func (m *Module) DeployGas() types.Gas { return m.deployGas }

// CodeSize is the length in bytes of the code as submitted.
func (m *Module) CodeSize() int { return len(m.code) }

// Pages is the initial size of the memory in pages of 64 KiB.
func (m *Module) Pages() uint32 { return m.pages }

// MaxPages is what the memory may grow to, in pages of 64 KiB.
func (m *Module) MaxPages() uint32 { return m.maxPages }

// Callable reports whether a transaction or a contract may call the export of this name.
func (m *Module) Callable(name string) bool {
	_, ok := m.callable[name]
	return ok
}

// HasInit reports whether the deploy runs [InitFunction].
func (m *Module) HasInit() bool { return m.hasInit }

// Reentrant reports whether the contract may be entered while it is on the call stack.
func (m *Module) Reentrant() bool { return m.reentrant }

// Instrumented is the module rewritten for an engine; the same code always gives the same bytes. It must not be changed.
func (m *Module) Instrumented() []byte { return m.instrumented }

// Refused says why code is no contract.
type Refused struct {
	Reason Reason
	Offset int // in bytes, where it shows
}

// Reason is the rule that a module breaks, in words.
type Reason string
