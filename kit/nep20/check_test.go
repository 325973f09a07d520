package nep20

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/types"
)

// flaw is a way in which the model of a token breaks the standard.
type flaw int

const (
	none flaw = iota
	noFunctionBurnInABI
	wrongABI
	numericName
	looseArguments
	returnsNothing
	noEvent
	twoEvents
	wrongEvent
	quotedAmount
	wrongTopics
	refusesZero
	selfTransferDoubles
	emptyReason
	trapsOnPoor
	wraps
	creditsZero
	approveAdds
	approveNoEvent
	keepsAllowance
	ignoresAllowance
	ownNeedsNone
	infinite
	worksInView
	anyoneMints
	mintWraps
	burnKeepsSupply
)

// model is a token in a few lines, and its chain.
type model struct {
	flaw       flaw
	owner      types.Account
	supply     uint64
	balances   map[types.Account]uint64
	allowances map[[2]types.Account]uint64
	logs       []Log
	fault      error // error of the chain
	shared     bool  // whether others use the chain, so that it is never reverted
}

var (
	token  = types.ContractID{1}
	holder = types.Account{2}
	actors = Accounts{Holder: holder, A: types.Account{3}, B: types.Account{4}}
)

func newModel(f flaw) *model {
	return &model{
		flaw: f, owner: holder, supply: 1_000, balances: map[types.Account]uint64{holder: 900, {9}: 100},
		allowances: map[[2]types.Account]uint64{},
	}
}

func (m *model) ABI(context.Context) (*abi.ABI, error) {
	if m.flaw == wrongABI {
		return nil, m.fault
	}
	var functions, events []string
	declare := func(text, mode string) string {
		name, rest, _ := strings.Cut(text, "(")
		list, returns, _ := strings.Cut(rest, ")")
		var args []string
		for part := range strings.SplitSeq(list, ", ") {
			if parameter, kind, ok := strings.Cut(part, " "); ok {
				args = append(args, fmt.Sprintf(`{"name":%q,"type":%q}`, parameter, kind))
			}
		}
		declared := fmt.Sprintf(`{"name":%q,"args":[%s]`, name, strings.Join(args, ","))
		if mode != "" {
			declared += fmt.Sprintf(`,"mode":%q,"returns":%q`, mode, strings.TrimSpace(returns))
		}
		return declared + "}"
	}
	for i, f := range standard {
		functions = append(functions, declare(f, []string{"read", "write"}[i/6]))
	}
	functions = append(functions, declare("mint(to account, amount u64) bool", "write"))
	if m.flaw != noFunctionBurnInABI {
		functions = append(functions, declare("burn(amount u64) bool", "write"))
	}
	for _, e := range standardEvents {
		events = append(events, declare(e, ""))
	}
	a, err := abi.Parse([]byte(`{"functions":[` + strings.Join(functions, ",") + `],"events":[` +
		strings.Join(events, ",") + `]}`))
	return &a, errors.Join(m.fault, err)
}

// refusal is the error of a revert.
type refusal string

func (r refusal) Error() string { return string(r) }

func (m *model) View(_ context.Context, function string, args []byte) (Outcome, error) {
	if m.fault != nil {
		return Outcome{}, m.fault
	}
	var a struct{ Address, Owner, Spender types.Account }
	if len(args) > 0 {
		if err := json.Unmarshal(args, &a); err != nil {
			return Outcome{}, err
		}
	}
	number := func(n uint64) (Outcome, error) {
		text, err := abi.Uint64(n).MarshalJSON()
		return Outcome{OK: true, Output: text}, err
	}
	switch function {
	case "name":
		if m.flaw == numericName {
			return number(5)
		}
		return Outcome{OK: true, Output: []byte(`"Gold"`)}, nil
	case "symbol":
		return Outcome{OK: true, Output: []byte(`"GLD"`)}, nil
	case "decimals":
		return number(2)
	case "totalSupply":
		return number(m.supply)
	case "balanceOf":
		return number(m.balances[a.Address])
	case "allowance":
		return number(m.allowances[[2]types.Account{a.Owner, a.Spender}])
	}
	if m.flaw == worksInView {
		return Outcome{OK: true, Output: []byte("true")}, nil
	}
	return Outcome{Reason: "trap"}, nil
}

func (m *model) Deploy(context.Context, types.Account, []byte) (types.ContractID, error) {
	if m.shared {
		return types.ContractID{}, conformance.NotTested("it would stay")
	}
	return types.ContractID{7}, nil
}

func (m *model) TakesBack() bool { return !m.shared }

func (m *model) Pass(context.Context, time.Duration) error { return nil }

func (m *model) Called(context.Context) (bool, error) { return false, nil }

func (m *model) Aside(_ context.Context, f func() error) error {
	if m.shared {
		return f()
	}
	before := m.copied()
	defer func() { *m = before }()
	return f()
}

// copied returns a copy of the present model.
func (m *model) copied() model {
	c := *m
	c.balances, c.allowances = maps.Clone(m.balances), maps.Clone(m.allowances)
	return c
}

func (m *model) Send(_ context.Context, from types.Account, function string, args []byte) (Outcome, error) {
	if m.fault != nil {
		return Outcome{}, m.fault
	}
	before := m.copied()
	m.logs = nil
	err := m.run(from, function, args)
	if err == nil {
		if m.flaw == returnsNothing {
			return Outcome{OK: true, Logs: m.logs}, nil
		}
		return Outcome{OK: true, Output: []byte("true"), Logs: m.logs}, nil
	}
	*m = before
	o := Outcome{Reason: "reverted", Output: []byte(err.Error())}
	if m.flaw == emptyReason {
		o.Output = nil
	}
	if m.flaw == trapsOnPoor && err == errPoor {
		o = Outcome{Reason: "trap"}
	}
	return o, nil
}

var errPoor = refusal("balance is too low")

func (m *model) run(from types.Account, function string, args []byte) error {
	var a struct {
		From, To, Spender *types.Account
		Amount            *abi.Uint64
	}
	decoder := json.NewDecoder(bytes.NewReader(args))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&a)
	if m.flaw != looseArguments && (decoder.More() || bytes.Count(args, []byte(`"amount"`)) > 1) {
		err = refusal("malformed arguments")
	}
	if err != nil || a.Amount == nil {
		return refusal("malformed arguments")
	}
	amount := uint64(*a.Amount)
	switch function {
	case "transfer":
		if a.To == nil {
			return refusal("to is missing")
		}
		return m.move(from, *a.To, amount)
	case "approve":
		key := [2]types.Account{from, *a.Spender}
		if m.flaw == approveAdds {
			amount += m.allowances[key]
		}
		m.allowances[key] = amount
		if m.flaw != approveNoEvent {
			m.emit(approved(from, *a.Spender, amount))
		}
		return nil
	case "transferFrom":
		return m.moveFrom(from, *a.From, *a.To, amount)
	case "mint":
		if from != m.owner && m.flaw != anyoneMints {
			return refusal("only the owner may mint")
		}
		if m.supply > math.MaxUint64-amount && m.flaw != mintWraps {
			return refusal("the supply overflows")
		}
		m.supply += amount
		m.balances[*a.To] += amount
		m.emit(transferred(Zero, *a.To, amount))
		return nil
	case "burn":
		if m.balances[from] < amount {
			return errPoor
		}
		m.balances[from] -= amount
		if m.flaw != burnKeepsSupply {
			m.supply -= amount
		}
		m.emit(transferred(from, Zero, amount))
		return nil
	}
	return refusal("no such function")
}

func (m *model) moveFrom(spender, from, to types.Account, amount uint64) error {
	key := [2]types.Account{from, spender}
	allowed := m.allowances[key]
	free := m.flaw == ignoresAllowance || m.flaw == ownNeedsNone && spender == from
	if allowed < amount && !free {
		return refusal("allowance is too low")
	}
	if !free && m.flaw != keepsAllowance && (m.flaw != infinite || allowed != math.MaxUint64) {
		m.allowances[key] -= amount
	}
	return m.move(from, to, amount)
}

func (m *model) move(from, to types.Account, amount uint64) error {
	switch {
	case to == Zero && m.flaw != creditsZero:
		return refusal("the zero account cannot receive")
	case amount == 0 && m.flaw == refusesZero:
		return refusal("nothing to move")
	case m.balances[from] < amount && (m.flaw != wraps || amount < 1<<63):
		return errPoor
	}
	received := m.balances[to] + amount
	m.balances[from] -= amount
	if m.flaw != selfTransferDoubles {
		received = m.balances[to] + amount
	}
	m.balances[to] = received
	m.emit(transferred(from, to, amount))
	return nil
}

func (m *model) emit(e expected) {
	var amount types.Digest
	binary.BigEndian.PutUint64(amount[24:], e.amount)
	log := Log{Contract: token, Name: e.name, Topics: []types.Digest{types.Digest(e.a), types.Digest(e.b), amount}}
	if m.flaw == wrongEvent {
		e.amount++
	}
	if m.flaw == wrongTopics {
		slices.Reverse(log.Topics)
	}
	number := fmt.Sprint(e.amount)
	if m.flaw == quotedAmount && e.amount > 1<<53 {
		number = strconv.Quote(number)
	}
	log.Data = fmt.Appendf(nil, `{%q:%q,%q:%q,"amount":%s}`, e.first, e.a, e.second, e.b, number)
	// Events of other contracts do not matter.
	m.logs = append(m.logs, Log{Contract: types.ContractID{8}, Name: "Transfer"}, Log{Contract: token, Name: "Note"})
	if m.flaw != noEvent {
		m.logs = append(m.logs, log)
	}
	if m.flaw == twoEvents {
		m.logs = append(m.logs, log)
	}
}

func checked(t *testing.T, m *model) Report {
	t.Helper()
	var told []Result
	report, err := Check(t.Context(), m, token, actors, func(r Result) { told = append(told, r) })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(told, report.Results) || len(told) != len(rules) {
		t.Errorf("told of %d results, reported %d", len(told), len(report.Results))
	}
	return report
}

func TestSoundToken(t *testing.T) {
	if report := checked(t, newModel(none)); report.Count(Pass) != len(rules) {
		t.Errorf("got %+v", report.Results)
	}
}

// TestOnAChainOfOthers: irreversible operations are not tried, and moved tokens are returned.
func TestOnAChainOfOthers(t *testing.T) {
	m := newModel(none)
	m.shared = true
	report := checked(t, m)
	if got, want := report.Count(LeftOut), 4; !report.Conforms() || got != want {
		t.Errorf("got %d rules left out, want %d: %+v", got, want, report.Results)
	}
	if m.supply != 1_000 || m.balances[holder] != 900 || m.balances[actors.A]+m.balances[actors.B] != 0 {
		t.Errorf("after the check: got %+v, want supply 1,000 and balances 900 and balances 0", m)
	}
	for key, left := range m.allowances {
		if left != 0 {
			t.Errorf("an allowance of %d is left: got %x", left, key)
		}
	}
}

// TestFlaws: each flaw breaks exactly its rule.
func TestFlaws(t *testing.T) {
	for f, rule := range map[flaw]string{
		wrongABI:            "interface",
		numericName:         "metadata",
		looseArguments:      "arguments",
		returnsNothing:      "transfer",
		noEvent:             "transfer",
		twoEvents:           "transfer",
		wrongEvent:          "transfer",
		wrongTopics:         "transfer",
		quotedAmount:        "approve",
		refusesZero:         "transfer_nothing",
		selfTransferDoubles: "transfer_to_oneself",
		emptyReason:         "transfer_too_much",
		trapsOnPoor:         "transfer_too_much",
		wraps:               "transfer_overflow",
		creditsZero:         "zero_account",
		approveAdds:         "approve",
		approveNoEvent:      "approve",
		keepsAllowance:      "transfer_from",
		ignoresAllowance:    "allowance_limits",
		ownNeedsNone:        "allowance_of_oneself",
		infinite:            "no_infinity",
		worksInView:         "view_context",
		anyoneMints:         "mint",
		mintWraps:           "mint",
		burnKeepsSupply:     "burn",
	} {
		report := checked(t, newModel(f))
		i := slices.IndexFunc(report.Results, func(r Result) bool { return r.Rule == rule })
		if r := report.Results[i]; r.Verdict != Fail || r.Detail == "" || report.Conforms() {
			t.Errorf("flaw %d: rule %s: got %+v", f, rule, r)
		}
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	m := newModel(noFunctionBurnInABI)
	m.owner = types.Account{9}
	report := checked(t, m)
	if !report.Conforms() || report.Count(LeftOut) != 2 {
		t.Errorf("got %+v", report.Results)
	}
}

func TestFaultsOfTheChain(t *testing.T) {
	m := newModel(none)
	m.fault = errors.New("no answer")
	if _, err := Check(t.Context(), m, token, actors, nil); !errors.Is(err, m.fault) {
		t.Errorf("error %v, want %v", err, m.fault)
	}
	poor := newModel(none)
	poor.balances[holder] = MinHolding - 1
	if _, err := Check(t.Context(), poor, token, actors, nil); err == nil ||
		!strings.Contains(err.Error(), "too few tokens") {
		t.Errorf("error %v", err)
	}
}
