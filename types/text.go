package types

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

// Text returns the text that a Bitcoin wallet of the sender signs (docs/protocol.md, "Texts"). It returns false if there
// is none, because a time is after [MaxTime] or the fee cap does not fit 64 bits.
func (t Transaction) Text(network Network) (string, bool) { return t.text("transaction", network) }

// PayerText returns the text that a Bitcoin wallet of the payer signs, as [Transaction.Text] does for the sender.
func (t Transaction) PayerText(network Network) (string, bool) { return t.text("fee payment", network) }

// text writes a transaction for people. The last line binds all bytes; no value that a user chooses can begin a line.
func (t Transaction) text(role string, network Network) (string, bool) {
	w := textWriter{network: network, ok: true}
	w.line("Cairn %s on %s, chain %d", role, network, t.ChainID)
	w.payload(t.Target, t.Value, t.Payload)
	feeCap, err := t.FeeCap()
	if err != nil {
		return "", false
	}
	if t.Payer == nil {
		w.line("fee: at most %s", coins(feeCap))
	} else {
		w.line("fee: at most %s, paid by %s", coins(feeCap), network.Address(*t.Payer))
	}
	w.line("from: %s", network.Address(t.Sender))
	w.line("nonce: %d", t.Nonce)
	if t.ValidUntil != nil {
		w.line("until: %s", w.time(*t.ValidUntil))
	}
	id := t.Hash()
	w.line("id: %s", hex.EncodeToString(id[:]))
	return w.text(), w.ok
}

// MessageHash returns the hash that account_verify verifies: tagged("cairn/message/v2", chain_id ‖ contract ‖ account ‖
// message). Outside of contracts the contract is zero.
func MessageHash(chainID uint64, contract ContractID, account Account, message []byte) [32]byte {
	e := codec.NewEncoder(72 + len(message))
	e.U64(chainID)
	e.Fixed(contract[:])
	e.Fixed(account[:])
	e.Fixed(message)
	return messageTag.Hash(e.Data())
}

var messageTag = bip340.NewTag("cairn/message/v2")

// MessageText returns the text of a message that account_verify verifies.
func MessageText(network Network, chainID uint64, contract ContractID, account Account, message []byte) string {
	w := textWriter{network: network, ok: true}
	hash := MessageHash(chainID, contract, account, message)
	w.line("Cairn message on %s, chain %d", network, chainID)
	w.line("contract: %s", contract)
	w.line("account: %s", network.Address(account))
	w.line("message: %s", printable(message, 1024))
	w.line("id: %s", hex.EncodeToString(hash[:]))
	return w.text()
}

type textWriter struct {
	network Network
	lines   strings.Builder
	ok      bool // false after a time that has no text
}

func (w *textWriter) line(format string, args ...any) { fmt.Fprintf(&w.lines, format+"\n", args...) }

// text returns the lines without the last line feed.
func (w *textWriter) text() string { return strings.TrimSuffix(w.lines.String(), "\n") }

func (w *textWriter) payload(target Account, value Amount, payload Payload) {
	switch p := payload.(type) {
	case Transfer:
		w.line("pay: %s", coins(value))
		w.line("to: %s", w.network.Address(target))
		if p.Memo != nil {
			w.line("memo: %s", memoText(*p.Memo))
		}
	case Call:
		w.line("call: %s", printable([]byte(p.Function), 64))
		w.line("contract: %s", target)
		w.line("arguments: %s", printable(p.Args, 1024))
		w.line("value: %s", coins(value))
	case Deploy:
		w.line("deploy: %s", printable([]byte(p.Name), 64))
		w.line("code: %s", lengthAndDigest(p.Code))
		w.line("arguments: %s", printable(p.InitArgs, 1024))
		w.line("value: %s", coins(value))
	case Instantiate:
		w.line("create: %s", printable([]byte(p.Name), 64))
		w.line("like: %s", target)
		w.line("arguments: %s", printable(p.InitArgs, 1024))
		w.line("value: %s", coins(value))
	case SetPolicy:
		w.setPolicy(p)
	case Configure:
		w.configure(p.Parameters)
	case Batch:
		for i, step := range p.Steps {
			w.line("step: %d of %d", i+1, len(p.Steps))
			w.payload(step.Target, step.Value, step.Action)
		}
	}
}

func (w *textWriter) setPolicy(p SetPolicy) {
	word := "policy"
	if p.Recovery {
		word = "recover"
	}
	if p.Policy == nil {
		w.line("%s: own", word)
		return
	}
	w.line("%s: %s", word, w.network.Address(p.Policy.Hash()))
	owner := p.Policy.Owner
	w.line("owner: %d of %d signers", owner.Threshold, len(owner.Signers))
	w.signers(owner)
	recovery := p.Policy.Recovery
	if recovery == nil {
		w.line("recovery: none")
		return
	}
	w.line("recovery: %d of %d signers, after %d s",
		recovery.Rule.Threshold, len(recovery.Rule.Signers), recovery.Delay/1000)
	w.signers(recovery.Rule)
}

func (w *textWriter) signers(r Rule) {
	for _, signer := range r.Signers {
		switch s := signer.(type) {
		case SignerKey:
			w.line("signer: key %s", w.network.Address(Account(s.Key)))
		case SignerP256:
			w.line("signer: p256 0x%x", sha256.Sum256(s.Point[:]))
		case SignerPasskey:
			verified := ""
			if s.Verified {
				verified = ", verified"
			}
			w.line("signer: passkey 0x%x%s", sha256.Sum256(s.Point[:]), verified)
		}
	}
}

func (w *textWriter) configure(p Parameters) {
	w.line("configure: version %d, gas limit %d, block bytes %d, target %d, base fee %d to %d, notice %d s",
		p.Version, p.GasLimit, p.BlockBytes, p.TargetBPS, p.MinBaseFee, p.MaxBaseFee, p.Notice/1000)
	w.line("producer: %s", p.Producer)
	w.line("fees to: %s", w.network.Address(p.FeeRecipient))
	w.line("admin: %s", w.network.Address(p.Admin))
	if p.Upgrade == nil {
		w.line("upgrade: none")
	} else {
		w.line("upgrade: version %d from %s", p.Upgrade.Version, w.time(p.Upgrade.From))
	}
}

// time writes a time in milliseconds. One after [MaxTime] has no text.
func (w *textWriter) time(ms uint64) string {
	if ms > MaxTime {
		w.ok = false
		return ""
	}
	return time.UnixMilli(int64(ms)).UTC().Format("2006-01-02 15:04:05 UTC")
}

// coins writes an amount in coins.
func coins(a Amount) string {
	whole := strconv.FormatUint(uint64(a/CoinUnits), 10)
	if rest := a % CoinUnits; rest != 0 {
		whole += "." + strings.TrimRight(fmt.Sprintf("%08d", rest), "0")
	}
	return whole + " coins"
}

// printable writes at most the given number of bytes as they are if all of them are printable ASCII.
func printable(b []byte, most int) string {
	switch {
	case len(b) == 0:
		return "none"
	case len(b) <= most && isPrintable(b):
		return string(b)
	default:
		return lengthAndDigest(b)
	}
}

func isPrintable(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c < 0x20 || c > 0x7e })
}

func lengthAndDigest(b []byte) string {
	return fmt.Sprintf("%d bytes, SHA-256 %x", len(b), sha256.Sum256(b))
}

func memoText(memo [32]byte) string {
	end := len(memo)
	for end > 0 && memo[end-1] == 0 {
		end--
	}
	if end > 0 && isPrintable(memo[:end]) {
		return string(memo[:end])
	}
	return fmt.Sprintf("0x%x", memo)
}
