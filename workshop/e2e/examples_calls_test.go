package e2e

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// chain makes a chain with a token, and the examples of sending.
func (c *exampleChain) chain() {
	c.show("blocks by dev_mine only", "dev_setBlockTime", nil)
	args := argsOf("name", "Gold", "symbol", "GLD", "decimals", 2, "initialSupply", 100_000)
	c.post("svc_sendRawTransaction", c.sign(0, 0, 100_000_000, client.Action{Payload: types.Deploy{
		Name: "Gold", Code: contracts.Token(), InitArgs: args,
	}}))
	c.time++
	c.show("the time of the next block", "dev_setNextBlockTime", c.time)
	c.show("a block", "dev_mine")
	transfer := c.sign(0, 1, 10_000, client.Transfer(c.account(1), 150_000_000))
	c.show("the gas limit of a transfer", "svc_estimateGas", transfer)
	c.show("1.5 coins of dev0 to dev1", "svc_sendRawTransaction", transfer)
	c.show("what waits of dev0", "svc_getPendingTransactions", map[string]any{"sender": c.account(0)})
	c.show("a transaction that waits", "svc_getTransactionByHash", idOf(transfer))
	c.show("no receipt while it waits", "svc_getTransactionReceipt", idOf(transfer))
	c.show("where a transaction is that waits", "svc_getTransactionStatus", idOf(transfer))
	c.show("the nonce that dev0 needs next", "svc_getTransactionCount", c.account(0), "pending")
	c.show("the pool", "svc_getMempoolStats")
	c.block()
	c.show("an included transaction that is known already", "svc_sendRawTransactionSync", transfer)
	call := c.sign(0, 2, 5_000_000, client.CallEncoded(
		c.token(), "transfer", argsOf("to", c.account(1), "amount", 1_500), 0,
	))
	c.show("the output of a call that is not sent", "svc_call", call)
	c.show("what it would do", "svc_traceCall", call)
	c.post("svc_sendRawTransaction", call)
	c.block()
	c.history(idOf(transfer), idOf(call))
}

// token is the token's contract.
func (c *exampleChain) token() types.ContractID { return types.NewContractID(c.account(0), 0) }

// idOf returns the hash of an encoded transaction.
func idOf(encoded api.Data) types.TxID {
	tx, err := types.DecodeTx(encoded)
	if err != nil {
		panic(err) // of the transaction encoded here
	}
	return tx.ID()
}

// argsOf returns arguments in JSON from names and values.
func argsOf(pairs ...any) api.Data {
	args := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	text, err := json.Marshal(args)
	if err != nil {
		panic(err) // impossible for texts and numbers
	}
	return text
}

// history makes the examples about blocks and transactions.
func (c *exampleChain) history(transfer, call types.TxID) {
	c.show("the height", "svc_blockNumber")
	c.show("a block with its transactions' hashes", "svc_getBlockByNumber", "0x2")
	c.show("zeros may lead, and the transactions be whole", "svc_getBlockByNumber", "0x0002", true)
	var block struct{ Hash types.BlockHash }
	if err := json.Unmarshal(c.post("svc_getBlockByNumber", "latest"), &block); err != nil {
		c.t.Fatal(err)
	}
	c.show("a block's first transaction", "svc_getBlockTransactions", "0x2", map[string]any{"limit": 1})
	c.show("a block by its hash", "svc_getBlockByHash", block.Hash)
	c.show("an included transaction", "svc_getTransactionByHash", transfer)
	c.show("the receipt of a call, with its events", "svc_getTransactionReceipt", call)
	c.show("a block's first receipt", "svc_getBlockReceipts", "0x2", map[string]any{"limit": 1})
	c.show("where an included transaction is", "svc_getTransactionStatus", call)
	c.show("what a call did", "svc_traceTransaction", call)
	c.show("the newest of an account", "svc_getTransactionsByAddress", c.account(1), map[string]any{"limit": 1})
	c.show("the transaction of a nonce", "svc_getTransactionByNonce", c.account(0), "0x1")
	c.show("the newest of all", "svc_listRecentTransactions", 1)
	c.show("headers, as a replica asks for them", "svc_getBlocks", map[string]any{
		"from_height": 1, "to_height": 2, "raw_only": true,
	})
	c.show("what dev1 was paid", "svc_getPayments", map[string]any{"accounts": []any{c.account(1)}, "direction": "in"})
}

// keyRead returns the last storage key that a view of a contract reads.
func (c *exampleChain) keyRead(contract types.ContractID, function string) api.Data {
	c.t.Helper()
	var proof api.ViewProof
	if err := json.Unmarshal(c.post("svc_getViewProof", contract, function), &proof); err != nil {
		c.t.Fatal(err)
	}
	before := state.StorageKey(contract, nil)
	for _, value := range slices.Backward(proof.Values) {
		if key, ok := bytes.CutPrefix(value.Key, before); ok {
			return key
		}
	}
	c.t.Fatalf("%s reads nothing", function)
	return nil
}

// queries makes the examples about the state, fees and the node.
func (c *exampleChain) queries() {
	dev1, token := c.account(1), c.token()
	symbol := c.keyRead(token, "symbol")
	c.show("coins", "svc_getBalance", types.Regtest.Address(dev1))
	c.show("coins after a block", "svc_getBalance", dev1, "0x1")
	c.show("an account's nonce", "svc_getTransactionCount", c.account(0))
	c.show("the key of an address", "svc_resolveAddress", types.Regtest.Address(dev1))
	c.show("a token's balance", "svc_getTokenBalance", token, dev1)
	c.show("who has most of a token", "svc_getTokenHolders", token, map[string]any{"limit": 2})
	c.show("a view call", "svc_viewCall", token, "balanceOf", argsOf("address", dev1))
	c.show("two view calls", "svc_batchViewCall", []any{
		map[string]any{"contract_id": token, "function": "symbol"},
		map[string]any{"contract_id": token, "function": "none"},
	})
	c.show("a view call that can be made again", "svc_getViewProof", token, "decimals")
	c.show("a contract", "svc_getContract", token)
	c.show("what functions and events it has", "svc_getContractAbi", token)
	c.show("its code", "svc_getContractCode", token)
	var contract struct {
		CodeHash types.CodeHash `json:"code_hash"`
	}
	if err := json.Unmarshal(c.post("svc_getContract", token), &contract); err != nil {
		c.t.Fatal(err)
	}
	c.show("code by its hash", "svc_getCode", contract.CodeHash)
	c.show("the contracts", "svc_listContracts", 10)
	c.show("transfers of a token", "svc_getEvents", map[string]any{"contract_id": token, "event_name": "Transfer"})
	c.accounts()
	c.show("a value of a contract's storage", "svc_getStorageAt", token, symbol)
	c.show("its proof", "svc_getStorageProof", token, symbol)
	c.show("an account's proof", "svc_getAccountProof", dev1)
	c.show("the proof of a state key", "svc_getStateProof", api.Data(state.AccountKey(dev1)))
	c.show("the parameters in force", "svc_getParameters")
	c.show("what a transfer costs", "svc_gasPrice")
	c.show("the fee market", "svc_getFeeMarket")
	c.show("fees of two blocks", "svc_getFeeHistory", 2, []any{50})
	c.show("the node", "svc_getNodeInfo")
	c.show("how far it is", "svc_getSyncStatus")
	c.show("the chain id", "svc_chainId")
	c.show("the genesis", "svc_getGenesis")
	c.show("this interface", "rpc.discover")
	provenUpTo(c.t, c.node, 1, 3)
	c.show("a block's proof", "svc_getProof", "0x2")
	c.show("a proof that does not hold", "svc_verifyProof", "0x2", "0x00")
	c.show("what a block changed", "svc_getAccessList", "0x2")
	c.show("the state after the latest block", "svc_getStateSnapshot")
	c.show("new blocks", "svc_subscribe", "newBlocks", map[string]any{"headers_only": true})
	c.show("no more of them", "svc_unsubscribe", "0x1")
}

// accounts makes the examples about who may sign for accounts, and the evidence of signing.
func (c *exampleChain) accounts() {
	c.show("an account", "svc_getAccount", c.account(0))
	next := c.sign(0, 3, 10_000, client.Transfer(c.account(1), 150_000_000))
	c.show("what the sender of a transfer signs", "svc_getSigningText", next)
	message := []byte("login at example.org")
	hash := types.MessageHash(api.DevelopmentChainID, types.ContractID{}, c.account(1), message)
	signature, err := c.keys[1].Sign(hash[:], [32]byte{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.show("a message that dev1 signed", "svc_verifyMessage", c.account(1), api.Data(message),
		api.Data(types.EncodeWitness(types.WitnessKey{Signature: signature})))
	c.show("headers alone", "svc_getHeaders", map[string]any{"from_height": 1, "to_height": 2})
	var recent []api.Transaction
	if err := json.Unmarshal(c.post("svc_listRecentTransactions", 1), &recent); err != nil || len(recent) == 0 {
		c.t.Fatal(len(recent), err)
	}
	c.show("that a transaction is in a block", "svc_getInclusionProof", recent[0].Hash)
}

// development makes the examples that need a development chain.
func (c *exampleChain) development() {
	c.show("a point to come back to", "dev_snapshot")
	c.show("5 coins for dev1", "dev_fund", c.account(1), api.Quantity(5*types.CoinUnits))
	c.show("an hour later", "dev_increaseTime", 3_600)
	c.show("back to that point", "dev_revert", "0x1")
}
