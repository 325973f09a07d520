package show

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// TransactionTable lists transactions, one a line.
func TransactionTable(t *output.Text, transactions []api.Transaction) {
	rows := make([][]any, len(transactions))
	for i, tx := range transactions {
		var block any = "pending"
		if tx.BlockHeight != nil {
			block = *tx.BlockHeight
		}
		rows[i] = []any{block, tx.Status, tx.Type, Coins(tx.Value), tx.Hash}
	}
	t.Table([]string{"Block", "Status", "Type", "Value", "Transaction"}, rows)
}

// StepText describes a step of a batch in a line.
func StepText(step types.Step) string {
	switch action := step.Action.(type) {
	case types.Call:
		return fmt.Sprintf("call %s of %s with %s", OneLine(action.Function), step.Target, Coins(step.Value))
	case types.Transfer:
		if action.Memo != nil {
			memo := api.Data(action.Memo[:])
			return fmt.Sprintf("%s to %s, memo %s", Coins(step.Value), step.Target, MemoText(&memo))
		}
	}
	return fmt.Sprintf("%s to %s", Coins(step.Value), step.Target)
}

// EventData formats an event's data as JSON. The protocol's events get the same form as events of contracts.
func EventData(contract types.ContractID, name string, topics []api.Data, data []byte) string {
	if !contract.IsZero() || len(topics) != 3 {
		return Readable(data)
	}
	first, second := topics[1], topics[2]
	switch {
	case name == types.NativeTransfer && len(data) == 8:
		return fmt.Sprintf(`{"from":"%s","to":"%s","amount":%d}`, first, second, binary.LittleEndian.Uint64(data))
	case name == types.NativeTransfer && len(data) == 40:
		return fmt.Sprintf(`{"from":"%s","to":"%s","amount":%d,"memo":"%s"}`, first, second,
			binary.LittleEndian.Uint64(data), api.Data(data[8:]))
	case name == types.PolicySet && len(data) == 0:
		return fmt.Sprintf(`{"account":"%s","authority":"%s"}`, first, second)
	case name == types.RecoveryStarted && len(data) == 8:
		return fmt.Sprintf(`{"account":"%s","next":"%s","from":%d}`, first, second, binary.LittleEndian.Uint64(data))
	case name == types.CodeReplaced && len(data) == 0:
		return fmt.Sprintf(`{"contract":"%s","codeHash":"%s"}`, first, second)
	}
	return Readable(data)
}

// ParameterFields describes parameters for people.
func ParameterFields(p types.Parameters) []output.Field {
	upgrade := "none"
	if p.Upgrade != nil {
		upgrade = fmt.Sprintf("version %d from %s on", p.Upgrade.Version, MillisecondTime(p.Upgrade.From))
	}
	return []output.Field{
		{Name: "Version", Value: p.Version},
		{Name: "Upgrade", Value: upgrade},
		{Name: "Notice of upgrades", Value: (time.Duration(min(p.Notice, 1<<40)) * time.Millisecond).String()},
		{Name: "Gas limit", Value: p.GasLimit},
		{Name: "Block bytes", Value: p.BlockBytes},
		{Name: "Target", Value: fmt.Sprintf("%d bps", p.TargetBPS)},
		{Name: "Base fee's bounds", Value: fmt.Sprintf("%d to %d units per gas", p.MinBaseFee, p.MaxBaseFee)},
		{Name: "Producer", Value: p.Producer},
		{Name: "Fee recipient", Value: p.FeeRecipient},
		{Name: "Admin", Value: p.Admin},
	}
}

// FeeField describes what a transaction's gas cost, and which address paid it if not the sender.
func FeeField(receipt api.Receipt, payer string) output.Field {
	if payer != "" {
		return output.Field{Name: "Fee", Value: fmt.Sprintf("%s, paid by %s", Coins(receipt.Fee), payer)}
	}
	return output.Field{Name: "Fee", Value: Coins(receipt.Fee)}
}

// ReceiptFields describes what became of a transaction.
func ReceiptFields(receipt api.Receipt) []output.Field {
	status := api.StatusFailed
	if client.Failure(receipt) == nil {
		status = api.StatusSuccess
	}
	return []output.Field{
		{Name: "Status", Value: status}, {Name: "Transaction", Value: receipt.TransactionHash},
		{Name: "Block", Value: receipt.BlockHeight}, {Name: "Gas used", Value: uint64(receipt.GasUsed)},
		{Name: "Gas price", Value: PerGas(receipt.EffectiveGasPrice)},
	}
}
