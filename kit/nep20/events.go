package nep20

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// expected is an event that an operation must emit.
type expected struct {
	name          string
	first, second string // the names of its account fields
	a, b          types.Account
	amount        uint64
}

func transferred(from, to types.Account, amount uint64) expected {
	return expected{"Transfer", "from", "to", from, to, amount}
}

func approved(owner, spender types.Account, amount uint64) expected {
	return expected{"Approval", "owner", "spender", owner, spender, amount}
}

// only reports why logs are not exactly this event of a token. Events of other contracts and of other names do not
// matter.
func (e expected) only(token types.ContractID, logs []Log) error {
	var seen []Log
	for _, log := range logs {
		if log.Contract == token && (log.Name == "Transfer" || log.Name == "Approval") {
			seen = append(seen, log)
		}
	}
	if len(seen) != 1 || seen[0].Name != e.name {
		return fmt.Errorf("it must emit one %s, and emitted %s", e.name, list(seen))
	}
	if err := e.data(seen[0].Data); err != nil {
		return err
	}
	return e.topics(seen[0].Topics)
}

func list(logs []Log) string {
	if len(logs) == 0 {
		return "nothing"
	}
	var b bytes.Buffer
	for i, log := range logs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(log.Name)
	}
	return b.String()
}

func (e expected) data(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("the data of %s is not a JSON object: %q", e.name, data)
	}
	for name, want := range map[string]types.Account{e.first: e.a, e.second: e.b} {
		var got types.Account
		if err := json.Unmarshal(fields[name], &got); err != nil || got != want {
			return fmt.Errorf("field %q of %s is %s, not %s", name, e.name, fields[name], want)
		}
	}
	var amount uint64 // always a number, although arguments and results may use a string
	if err := json.Unmarshal(fields["amount"], &amount); err != nil || amount != e.amount {
		return fmt.Errorf("field \"amount\" of %s is %s, not the number %d", e.name, fields["amount"], e.amount)
	}
	return nil
}

// topics are both accounts, and the amount as 32 bytes big-endian.
func (e expected) topics(topics []types.Digest) error {
	var amount types.Digest
	binary.BigEndian.PutUint64(amount[24:], e.amount)
	want := []types.Digest{types.Digest(e.a), types.Digest(e.b), amount}
	if len(topics) != len(want) {
		return fmt.Errorf("%s has %d topics, not %d", e.name, len(topics), len(want))
	}
	for i := range want {
		if topics[i] != want[i] {
			return fmt.Errorf("topic %d of %s is %s, not %s", i, e.name, topics[i], want[i])
		}
	}
	return nil
}
