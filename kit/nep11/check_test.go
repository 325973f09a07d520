package nep11

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/types"
)

// flaw is a way in which the model of a contract breaks the standard.
type flaw int

const (
	none flaw = iota
	noMintInABI
	wrongABI
	divisible
	forgetsLosers
	longPages
	listsTwice
	ignoresStart
	plainProperties
	ownsUnknown
	looseArguments
	returnsNothing
	noEvent
	twoEvents
	wrongAmount
	wrongTopics
	refusesData
	noSelfTransfer
	anyoneMoves
	movesUnknown
	worksInView
	keepsApproval
	anyoneApproves
	anyoneMints
	mintsTwice
	longIDs
	ownedByZero
	anyoneBurns
	burnKeepsSupply
	neverTells
	tellsTwice
	tellsFirst
	tellsOfMore
	tellsNoData
	ignoresRefusal
)

// model is a contract in a few lines, and its chain.
type model struct {
	flaw     flaw
	minter   types.Account
	owners   map[string]types.Account // by token
	approved map[string]types.Account
	order    []string
	supply   int
	logs     []conformance.Log
	fault    error // error of the chain
	noDeploy error // error of a deploy
}

var (
	contract = types.ContractID{1}
	receiver = types.ContractID{7}
	holder   = types.Account{2}
	actors   = conformance.Accounts{Holder: holder, A: types.Account{3}, B: types.Account{4}}
)

func newModel(f flaw) *model {
	m := &model{flaw: f, minter: holder, owners: map[string]types.Account{}, approved: map[string]types.Account{}}
	for i := range 150 {
		m.mint(holder, fmt.Sprintf("token %d", i))
	}
	m.mint(types.Account{9}, "another's")
	m.logs = nil
	return m
}

func (m *model) mint(to types.Account, id string) {
	m.owners[id], m.order, m.supply = to, append(m.order, id), m.supply+1
	m.emit(zero, to, id)
}

func (m *model) emit(from, to types.Account, id string) {
	amount := 1
	if m.flaw == wrongAmount {
		amount = 2
	}
	var one types.Digest
	binary.BigEndian.PutUint64(one[24:], 1)
	topics := []types.Digest{types.Digest(from), types.Digest(to), one}
	if m.flaw == wrongTopics {
		topics = topics[:2]
	}
	log := conformance.Log{
		Contract: contract, Name: "Transfer", Topics: topics,
		Data: fmt.Appendf(nil, `{"from":%q,"to":%q,"amount":%d,"tokenId":"0x%x"}`, from, to, amount, id),
	}
	// Events of other contracts do not matter.
	m.logs = append(m.logs, conformance.Log{Contract: types.ContractID{8}, Name: "Transfer"})
	if m.flaw != noEvent {
		m.logs = append(m.logs, log)
	}
	if m.flaw == twoEvents {
		m.logs = append(m.logs, log)
	}
}

const declared = `{"functions":[
	{"name":"symbol","mode":"read","returns":"string"},{"name":"decimals","mode":"read","returns":"u32"},
	{"name":"totalSupply","mode":"read","returns":"u64"},
	{"name":"balanceOf","mode":"read","args":[{"name":"owner","type":"account"}],"returns":"u64"},
	{"name":"ownerOf","mode":"read","args":[{"name":"tokenId","type":"bytes"}],"returns":"account"},
	{"name":"properties","mode":"read","args":[{"name":"tokenId","type":"bytes"}],"returns":"string"},
	{"name":"tokens","mode":"read","args":[{"name":"start","type":"u32"},{"name":"count","type":"u32"}],
		"returns":"bytes[]"},
	{"name":"tokensOf","mode":"read","args":[{"name":"owner","type":"account"},{"name":"start","type":"u32"},
		{"name":"count","type":"u32"}],"returns":"bytes[]"},
	{"name":"transfer","mode":"write","args":[{"name":"to","type":"account"},{"name":"tokenId","type":"bytes"},
		{"name":"data","type":"bytes?"}],"returns":"bool"},
	{"name":"approve","mode":"write","args":[{"name":"to","type":"account?"},{"name":"tokenId","type":"bytes"}]},
	{"name":"burn","mode":"write","args":[{"name":"tokenId","type":"bytes"}]}%s],
	"events":[{"name":"Transfer","args":[{"name":"from","type":"account"},{"name":"to","type":"account"},
		{"name":"amount","type":"u64"},{"name":"tokenId","type":"bytes"}]}]}`

const declaredMint = `,{"name":"mint","mode":"write","args":[{"name":"to","type":"account"},
	{"name":"tokenId","type":"bytes"},{"name":"properties","type":"string"}]}`

func (m *model) ABI(context.Context) (*abi.ABI, error) {
	text := fmt.Sprintf(declared, declaredMint)
	switch m.flaw {
	case noMintInABI:
		text = fmt.Sprintf(declared, "")
	case wrongABI:
		text = strings.Replace(text, `"returns":"bytes[]"`, `"returns":"string[]"`, 1)
	}
	a, err := abi.Parse([]byte(text))
	return &a, errors.Join(m.fault, err)
}

// refusal is the error of a revert.
type refusal string

func (r refusal) Error() string { return string(r) }

// given are the arguments of any function.
type given struct {
	Owner, To    *types.Account
	TokenID      *tokenID
	Start, Count int
	Properties   *string
	Data         *tokenID
}

func (m *model) read(args []byte) (g given, err error) {
	if len(args) == 0 {
		return g, nil
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	err = d.Decode(&g)
	if m.flaw != looseArguments && (d.More() || bytes.Count(args, []byte(`"tokenId"`)) > 1) {
		err = refusal("malformed arguments")
	}
	return g, err
}

func (m *model) View(_ context.Context, function string, args []byte) (conformance.Outcome, error) {
	if m.fault != nil {
		return conformance.Outcome{}, m.fault
	}
	g, err := m.read(args)
	if err != nil {
		return conformance.Outcome{}, err
	}
	value, err := m.view(function, g)
	if err != nil {
		return conformance.Outcome{Reason: "reverted", Output: []byte(err.Error())}, nil
	}
	text, err := json.Marshal(value)
	return conformance.Outcome{OK: true, Output: text}, err
}

func (m *model) view(function string, g given) (any, error) {
	switch function {
	case "symbol":
		return "ONE", nil
	case "decimals":
		return map[bool]int{true: 2}[m.flaw == divisible], nil
	case "totalSupply":
		return abi.Uint64(m.supply), nil
	case "balanceOf":
		return abi.Uint64(len(m.list(g.Owner))), nil
	case "tokens", "tokensOf":
		return m.page(g), nil
	case "transfer":
		if m.flaw == worksInView {
			return true, nil
		}
		return nil, refusal("a view changes nothing")
	}
	id := string(*g.TokenID)
	owner, ok := m.owners[id]
	if !ok && m.flaw != ownsUnknown {
		return nil, refusal("no such token")
	}
	if function == "ownerOf" {
		return owner, nil
	}
	if m.flaw == plainProperties {
		return id, nil
	}
	return `{"name":"one"}`, nil
}

// list returns the tokens of an owner, or all.
func (m *model) list(owner *types.Account) (list []string) {
	for _, id := range m.order {
		if owner == nil || m.owners[id] == *owner {
			list = append(list, id)
		}
	}
	if m.flaw == forgetsLosers && owner != nil && *owner == actors.A && m.supply > 0 {
		list = append(list, "lost")
	}
	return list
}

func (m *model) page(g given) []tokenID {
	list := m.list(g.Owner)
	start := min(g.Start, len(list))
	if m.flaw == ignoresStart {
		start = 0
	}
	count := min(g.Count, maxPage)
	if m.flaw == longPages {
		count = g.Count
	}
	page := []tokenID{}
	for _, id := range list[start:min(start+count, len(list))] {
		page = append(page, tokenID(id))
	}
	if m.flaw == listsTwice && len(page) > 1 {
		page[1] = page[0]
	}
	return page
}

func (m *model) Send(
	_ context.Context, from types.Account, function string, args []byte,
) (conformance.Outcome, error) {
	if m.fault != nil {
		return conformance.Outcome{}, m.fault
	}
	before := *m
	before.owners, before.approved, before.order = maps.Clone(m.owners), maps.Clone(m.approved), slices.Clone(m.order)
	m.logs = nil
	g, err := m.read(args)
	if err == nil {
		err = m.run(from, function, g)
	}
	if err != nil {
		*m = before
		return conformance.Outcome{Reason: "reverted", Output: []byte(err.Error())}, nil
	}
	o := conformance.Outcome{OK: true, Logs: m.logs}
	if function == "transfer" && m.flaw != returnsNothing {
		o.Output = []byte("true")
	}
	return o, nil
}

func (m *model) run(from types.Account, function string, g given) error {
	if g.TokenID == nil || function != "approve" && function != "burn" && g.To == nil {
		return refusal("arguments are missing")
	}
	id := string(*g.TokenID)
	owner, known := m.owners[id]
	if function == "mint" {
		switch {
		case from != m.minter && m.flaw != anyoneMints:
			return refusal("only the minter may mint")
		case known && m.flaw != mintsTwice:
			return refusal("there is such a token")
		case len(id) == 0 || len(id) > 64 && m.flaw != longIDs:
			return refusal("a token's ID has 1 to 64 bytes")
		}
		m.mint(*g.To, id)
		return nil
	}
	if !known && (m.flaw != movesUnknown || id != string(unknownID)) {
		return refusal("no such token")
	}
	mine := from == owner
	switch function {
	case "approve":
		if !mine && m.flaw != anyoneApproves {
			return refusal("only the owner may approve")
		}
		m.approved[id] = *g.To
	case "burn":
		if !mine && m.flaw != anyoneBurns {
			return refusal("only the owner may burn")
		}
		delete(m.owners, id)
		m.order = slices.DeleteFunc(m.order, func(other string) bool { return other == id })
		if m.flaw != burnKeepsSupply {
			m.supply--
		}
		m.emit(owner, zero, id)
	default:
		return m.transfer(from, owner, id, g)
	}
	return nil
}

func (m *model) Deploy(_ context.Context, from types.Account, code []byte) (types.ContractID, error) {
	if from != holder || !bytes.Equal(code, contracts.Receiver()) {
		return types.ContractID{}, errors.New("it is not for the holder to deploy")
	}
	return receiver, m.noDeploy
}

func (m *model) TakesBack() bool { return false }

func (m *model) Aside(_ context.Context, f func() error) error { return f() }

func (m *model) Pass(context.Context, time.Duration) error { return m.noDeploy }

func (m *model) Called(context.Context) (bool, error) { return false, m.noDeploy }

// tell calls onNEP11Payment of the receiver.
func (m *model) tell(from types.Account, id string, data *tokenID) error {
	amount, text := 1, []byte("null")
	switch {
	case data != nil && string(*data) == "no" && m.flaw != ignoresRefusal:
		return refusal("not wanted")
	case m.flaw == tellsOfMore:
		amount = 2
	case data != nil && m.flaw != tellsNoData:
		text = fmt.Appendf(nil, `"0x%x"`, []byte(*data))
	}
	m.logs = append(m.logs, conformance.Log{Contract: receiver, Name: "Received", Data: fmt.Appendf(
		nil, `{"token":"%s","from":%q,"amount":%d,"tokenId":"0x%x","data":%s}`, contract, from, amount, id, text,
	)})
	return nil
}

func (m *model) transfer(from, owner types.Account, id string, g given) error {
	switch approved, ok := m.approved[id]; {
	case from != owner && (!ok || approved != from) && m.flaw != anyoneMoves && m.flaw != movesUnknown:
		return refusal("not the owner's, nor approved")
	case *g.To == zero && m.flaw != ownedByZero:
		return refusal("the zero account cannot receive")
	case g.Data != nil && m.flaw == refusesData, *g.To == from && m.flaw == noSelfTransfer:
		return refusal("no")
	}
	if m.flaw != keepsApproval {
		delete(m.approved, id)
	}
	m.owners[id] = *g.To
	if *g.To != types.Account(receiver) || m.flaw == neverTells {
		m.emit(owner, *g.To, id)
		return nil
	}
	times := 1
	switch m.flaw {
	case tellsFirst:
		defer m.emit(owner, *g.To, id)
	case tellsTwice:
		times = 2
		fallthrough
	default:
		m.emit(owner, *g.To, id)
	}
	for range times {
		if err := m.tell(owner, id, g.Data); err != nil {
			return err
		}
	}
	return nil
}

func checked(t *testing.T, m *model) conformance.Report {
	t.Helper()
	var told []conformance.Result
	report, err := Check(t.Context(), m, contract, actors, func(r conformance.Result) { told = append(told, r) })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(told, report.Results) || len(told) != len(rules) {
		t.Errorf("told of %d results, reported %d", len(told), len(report.Results))
	}
	return report
}

func TestSoundContract(t *testing.T) {
	m := newModel(none)
	report := checked(t, m)
	if !report.Conforms() || report.Count(conformance.Pass) != len(rules) {
		t.Errorf("got %+v", report.Results)
	}
	given := types.Account(receiver)
	if m.supply != 151 || len(m.list(&holder)) != 149 || len(m.list(&given)) != 1 || len(m.approved) != 0 {
		t.Errorf("after the check: got %+v", m)
	}
}

// TestFlaws: each flaw breaks exactly its rule, and each rule has a flaw.
func TestFlaws(t *testing.T) {
	broken := map[string]bool{}
	for f, rule := range map[flaw]string{
		wrongABI:        "interface",
		divisible:       "metadata",
		forgetsLosers:   "balances",
		longPages:       "lists",
		listsTwice:      "lists",
		ignoresStart:    "lists",
		plainProperties: "properties",
		ownsUnknown:     "unknown_token",
		looseArguments:  "arguments",
		returnsNothing:  "transfer",
		noEvent:         "transfer",
		twoEvents:       "transfer",
		wrongAmount:     "transfer",
		wrongTopics:     "transfer",
		refusesData:     "transfer_with_data",
		noSelfTransfer:  "transfer_to_oneself",
		anyoneMoves:     "not_the_owner",
		movesUnknown:    "no_such_token",
		worksInView:     "view_context",
		keepsApproval:   "approve",
		anyoneApproves:  "approve",
		anyoneMints:     "mint",
		mintsTwice:      "mint",
		longIDs:         "mint",
		ownedByZero:     "zero_account",
		anyoneBurns:     "burn",
		burnKeepsSupply: "burn",
		neverTells:      "payment",
		tellsTwice:      "payment",
		tellsFirst:      "payment",
		tellsOfMore:     "payment",
		tellsNoData:     "payment",
		ignoresRefusal:  "payment",
	} {
		broken[rule] = true
		report := checked(t, newModel(f))
		i := slices.IndexFunc(report.Results, func(r conformance.Result) bool { return r.Rule == rule })
		if r := report.Results[i]; r.Verdict != conformance.Fail || r.Detail == "" || report.Conforms() {
			t.Errorf("flaw %d: rule %s: got %+v", f, rule, r)
		}
	}
	if len(broken) != len(rules) {
		t.Errorf("%d of %d rules have been broken", len(broken), len(rules))
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model)
		rules  int
	}{
		"no mint":   {func(m *model) { m.flaw = noMintInABI }, 3},
		"no minter": {func(m *model) { m.minter = types.Account{9} }, 3},
		"no deploy": {func(m *model) { m.noDeploy = conformance.NotTested("it would stay") }, 1},
	} {
		m := newModel(none)
		c.change(m)
		if report := checked(t, m); !report.Conforms() || report.Count(conformance.LeftOut) != c.rules {
			t.Errorf("%s: got %+v", name, report.Results)
		}
	}
}

func TestFaultsOfTheChain(t *testing.T) {
	m := newModel(none)
	m.fault = errors.New("no answer")
	if _, err := Check(t.Context(), m, contract, actors, nil); !errors.Is(err, m.fault) {
		t.Errorf("error %v, want %v", err, m.fault)
	}
	poor := newModel(none)
	poor.owners = map[string]types.Account{}
	if _, err := Check(t.Context(), poor, contract, actors, nil); !errors.Is(err, errNoToken) {
		t.Errorf("error %v, want %v", err, errNoToken)
	}
}
