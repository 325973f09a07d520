package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/terminal"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

const testPassword = "correct horse"

// fakeNode plays a node of a chain on regtest: every account has the same balance, and transactions are included at
// once, unless a test says otherwise.
type fakeNode struct {
	url     string
	chainID uint64
	genesis types.BlockHash
	balance types.Amount
	poor    types.Account // an account without coins
	// account changes the node's answer about an account: by default its own key signs.
	account func(*api.Account)
	// refuse, unless nil, is the error of sending.
	refuse error
	// late, unless nil, is the error of waiting for a transaction.
	late error
	// receipt changes the receipt of a transaction.
	receipt func(*api.Receipt)
	contractAnswers
	// producer is the chain's, producerKey the node's own; status changes the node's report about itself.
	producer    types.PublicKey
	upgrade     *api.Upgrade
	producerKey *types.PublicKey
	status      func(*api.SyncStatus)

	mu   sync.Mutex
	sent []types.SignedTransaction
}

// nodeTime is the time of the node's head, in the year 2500: ahead of every clock.
const nodeTime = 16_725_225_600_000

// keyWitness is the witness of the transactions that the node returns.
var keyWitness = api.Witness{Witness: types.WitnessKey{}}

// method is a method of the node; P and R are those of its declaration.
func method[P, R any](declared api.Method[P, R], fn func(P) (R, error)) jsonrpc.Method {
	return jsonrpc.NewMethod(declared.Name, func(_ context.Context, p P) (R, error) { return fn(p) })
}

func startNode(t *testing.T) *fakeNode {
	t.Helper()
	n := &fakeNode{chainID: api.DevelopmentChainID, balance: 10 * types.CoinUnits, producer: types.PublicKey{1}}
	server, err := jsonrpc.NewServer(
		jsonrpc.Options{}, slices.Concat(n.accounts(), n.blocks(), n.sending(), n.contracts())...,
	)
	if err != nil {
		t.Fatal(err)
	}
	http := httptest.NewServer(server)
	t.Cleanup(http.Close)
	n.url = http.URL
	return n
}

func (n *fakeNode) accounts() []jsonrpc.Method {
	return []jsonrpc.Method{
		method(api.ChainID, func(api.NoParams) (api.Quantity, error) { return api.Quantity(n.chainID), nil }),
		method(api.GetNodeInfo, func(api.NoParams) (api.NodeInfo, error) {
			return api.NodeInfo{
				Version:      "1.0",
				Network:      types.Regtest,
				Mode:         api.ModePrimary,
				ChainID:      n.chainID,
				GenesisHash:  n.genesis,
				BlockHeight:  17,
				ProducerKey:  n.producerKey,
				Verification: api.VerificationStateless,
				Proofs:       &api.ProofRange{Oldest: 3, Newest: 12},
			}, nil
		}),
		method(api.GetSyncStatus, func(api.NoParams) (api.SyncStatus, error) {
			reason, eta := "a block from the future", uint64(75)
			status := api.SyncStatus{Synced: true, LocalHeight: 17, State: api.StateHolding, Reason: &reason, ETASecs: &eta}
			if n.status != nil {
				n.status(&status)
			}
			return status, nil
		}),
		method(api.GetBalance, func(p api.GetBalanceParams) (api.Quantity, error) {
			if p.Account == n.poor.String() {
				return 0, nil
			}
			return api.Quantity(n.balance), nil
		}),
		method(api.GetAccount, func(p api.GetAccountParams) (api.Account, error) {
			id, err := types.Regtest.ParseAccount(p.Account)
			told := api.Account{Account: id, Authority: id, Balance: api.Quantity(n.balance), Nonce: 3}
			if n.account != nil {
				n.account(&told)
			}
			return told, err
		}),
		method(api.GetTransactionCount, func(p api.GetTransactionCountParams) (api.Quantity, error) {
			if p.Block.Pending {
				return 4, nil
			}
			return 3, nil
		}),
		method(api.GetTransactionsByAddress, func(p api.GetTransactionsByAddressParams) ([]api.Transaction, error) {
			list := make([]api.Transaction, *p.Page.Limit)
			for i := range list {
				list[i].Witness = keyWitness
			}
			return list, nil
		}),
		method(api.GetPayments, func(p api.GetPaymentsParams) (api.PaymentPage, error) {
			page := api.PaymentPage{Payments: make([]api.Payment, *p.Filter.Limit), Complete: true}
			for i := range page.Payments {
				account, err := types.Regtest.ParseAccount(p.Filter.Accounts[0])
				if err != nil {
					return page, err
				}
				page.Payments[i] = api.Payment{From: types.Account{7}, To: account, Amount: 150_000_000, Kind: "contract"}
				if i%2 == 1 {
					page.Payments[i].From, page.Payments[i].To = account, account
				}
			}
			return page, nil
		}),
		method(api.GetParameters, func(api.ParametersParams) (api.ParametersInfo, error) {
			return api.ParametersInfo{
				Version:      2,
				GasLimit:     50_000_000,
				BlockBytes:   2_000_000,
				TargetBPS:    5000,
				MinBaseFee:   10,
				MaxBaseFee:   1000,
				Producer:     n.producer,
				FeeRecipient: types.Account{2},
				Admin:        types.Account{3},
				Notice:       1000,
				Upgrade:      n.upgrade,
			}, nil
		}),
	}
}

func (n *fakeNode) blocks() []jsonrpc.Method {
	block := func(full bool) *api.Block {
		b := &api.Block{Height: 17, TxCount: 1, Transactions: api.BlockTransactions{Hashes: []types.TxID{{9}}}, TimestampMs: nodeTime}
		if full {
			b.Transactions = api.BlockTransactions{Full: []api.Transaction{{Hash: types.TxID{9}, Type: "transfer", Witness: keyWitness}}}
		}
		return b
	}
	return []jsonrpc.Method{
		method(api.BlockNumber, func(api.NoParams) (api.Quantity, error) { return n.head(), nil }),
		method(api.GetBlockByNumber, func(p api.GetBlockByNumberParams) (*api.Block, error) {
			if p.Block.Resolve(17) > 17 {
				return nil, nil
			}
			return block(p.Full), nil
		}),
		method(api.GetBlockByHash, func(p api.GetBlockByHashParams) (*api.Block, error) {
			if p.Hash.IsZero() {
				return nil, nil
			}
			return block(p.Full), nil
		}),
		method(api.GetTransactionByHash, func(p api.TransactionParams) (*api.Transaction, error) {
			if p.Hash.IsZero() {
				return nil, nil
			}
			tx := &api.Transaction{Hash: p.Hash, Status: api.StatusPending, Type: "call", Witness: keyWitness}
			if p.Hash != (types.TxID{1}) { // that transaction is pending
				height, reason, function := types.Height(17), "reverted", "mint"
				tx.BlockHeight, tx.BlockHash, tx.Status, tx.Error = &height, &types.BlockHash{}, api.StatusFailed, &reason
				tx.Input = &api.Input{Function: &function}
			}
			return tx, nil
		}),
		method(api.GetTransactionReceipt, func(p api.TransactionParams) (*api.Receipt, error) {
			return &api.Receipt{
				TransactionHash:   p.Hash,
				BlockHeight:       17,
				ContractAddress:   &types.ContractID{5},
				GasUsed:           1000,
				EffectiveGasPrice: 11,
				Logs:              []api.Log{{EventName: "Transfer"}},
			}, nil
		}),
		method(api.GasPrice, func(api.NoParams) (api.GasPriceInfo, error) {
			return api.GasPriceInfo{BaseFee: 10, SuggestedPriorityFee: 1, SuggestedMaxFee: 21}, nil
		}),
		method(api.GetFeeMarket, func(api.NoParams) (api.FeeMarket, error) {
			return api.FeeMarket{BaseFee: 10, MinBaseFee: 10, MaxBaseFee: 1000, TargetUtilization: api.Ratio(1, 2)}, nil
		}),
		method(api.GetFeeHistory, func(p api.GetFeeHistoryParams) (api.FeeHistory, error) {
			return api.FeeHistory{
				OldestBlock: 16, BaseFeePerGas: []api.Quantity{12, 11, 10}, GasUsedRatio: []api.Fraction{0, api.Ratio(1, 4)},
			}, nil
		}),
		method(api.GetMempoolStats, func(api.NoParams) (api.MempoolStats, error) {
			return api.MempoolStats{
				PendingCount: 2, TotalGas: 42_000, OldestTxAgeSecs: 3,
				Classes: []api.MempoolClass{{Class: "held", Refused: 1, Refusing: true}},
			}, nil
		}),
	}
}

func (n *fakeNode) sending() []jsonrpc.Method {
	return []jsonrpc.Method{
		method(api.TraceUnsent, func(api.TraceUnsentParams) (*api.Trace, error) {
			return &api.Trace{GasUsed: 20_000, Status: api.StatusSuccess, Parts: map[string]api.Quantity{}}, nil
		}),
		method(api.EstimateGas, func(p api.RawTransactionParams) (api.Quantity, error) {
			tx, err := types.DecodeUnsigned(p.Transaction)
			if _, is := tx.Payload.(types.Transfer); err == nil && is {
				return 10_000, nil
			}
			return 80_000, nil // a call, or a witness by a policy
		}),
		method(api.SendRawTransaction, func(p api.RawTransactionParams) (types.TxID, error) {
			tx, err := n.take(p.Transaction)
			return tx.ID(), err
		}),
		method(api.SendRawTransactionSync, func(p api.RawTransactionParams) (api.Receipt, error) {
			tx, err := n.take(p.Transaction)
			if err == nil {
				err = n.late
			}
			if err != nil {
				return api.Receipt{}, err
			}
			receipt := api.Receipt{
				TransactionHash:   tx.ID(),
				BlockHeight:       18,
				Status:            1,
				GasUsed:           20_000,
				EffectiveGasPrice: 11,
				Fee:               20_000 * 11,
				From:              tx.Sender,
				Payer:             tx.Payer,
			}
			if n.receipt != nil {
				n.receipt(&receipt)
			}
			return receipt, nil
		}),
	}
}

// head is the newest block: the block with the accepted transactions follows block 17.
func (n *fakeNode) head() api.Quantity {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.sent) > 0 {
		return 18
	}
	return 17
}

// take accepts a transaction with a valid signature.
func (n *fakeNode) take(encoded []byte) (types.SignedTransaction, error) {
	tx, err := types.DecodeSignedTransaction(encoded)
	if err != nil {
		return types.SignedTransaction{Transaction: types.Transaction{Payload: types.Transfer{}}}, api.ErrUndecodable
	}
	if n.refuse != nil {
		return tx, n.refuse
	}
	if types.VerifyWitnesses(types.Regtest, types.NewTxs(tx))[0] == nil {
		return tx, api.ErrBadSignature
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	known := func(sent types.SignedTransaction) bool { return sent.ID() == tx.ID() }
	if !slices.ContainsFunc(n.sent, known) { // otherwise the client waits for it
		n.sent = append(n.sent, tx)
	}
	return tx, nil
}

// onlySent is the one transaction that the node got.
func (n *fakeNode) onlySent(t *testing.T) types.SignedTransaction {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.sent) != 1 {
		t.Fatalf("%d transactions were sent, not one", len(n.sent))
	}
	return n.sent[0]
}

// desk is a user's environment: a home directory, variables, and the answers to questions in their order.
type desk struct {
	home    string
	env     []string
	answers []string
	asked   []string
}

// newDesk is a desk with no terminal, the key alice (of the private key 3) and its password file.
func newDesk(t *testing.T, node *fakeNode) *desk {
	t.Helper()
	d := &desk{home: t.TempDir()}
	d.env = []string{"CAIRN_HOME=" + d.home}
	if node != nil {
		d.env = append(d.env, "CAIRN_RPC_URL="+node.url)
	}
	store := keystore.Open(filepath.Join(d.home, "keys"))
	store.WorkFactor = 1
	key, err := keystore.ParsePrivateKey(strings.Repeat("0", 63) + "3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.AddKey("alice", types.Regtest, keystore.Secret{Key: key}, testPassword); err != nil {
		t.Fatal(err)
	}
	d.write(t, "password.txt", testPassword+"\n")
	return d
}

// write puts a file into the home directory and returns its path.
func (d *desk) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(d.home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (d *desk) path(name string) string { return filepath.Join(d.home, name) }

func (d *desk) Secret(_ context.Context, question string) (string, error) { return d.answer(question) }

func (d *desk) Line(_ context.Context, question string) (string, error) { return d.answer(question) }

func (d *desk) answer(question string) (string, error) {
	d.asked = append(d.asked, question)
	if len(d.answers) == 0 {
		return "", terminal.ErrNone
	}
	answer := d.answers[0]
	d.answers = d.answers[1:]
	return answer, nil
}

// outcome is a command's result.
type outcome struct {
	exit     int
	out, err string
}

func (d *desk) run(t *testing.T, args ...string) outcome {
	t.Helper()
	return d.runContext(t.Context(), args...)
}

func (d *desk) runContext(ctx context.Context, args ...string) outcome {
	a, of := session.NewApp(), Build{Info: build.Info{Version: "1.2.3", Go: "go1.26"}, ProtocolVersion: 2}
	a.Environ = func() []string { return d.env }
	a.Asker = d
	a.WorkFactor = 1
	var out, prose bytes.Buffer
	exit := invoke.Execute(ctx, newRoot(a, of), args, invoke.Streams{In: strings.NewReader(""), Out: &out, Err: &prose})
	return outcome{exit, out.String(), prose.String()}
}

// document parses the output of a command with --json.
type document struct {
	OK     bool            `json:"ok"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

// document decodes the standard output, which must be exactly one document of the agreed shape.
func (o outcome) document(t *testing.T) document {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(o.out))
	decoder.DisallowUnknownFields()
	var d document
	if err := decoder.Decode(&d); err != nil {
		t.Fatalf("the standard output is no document: %v: %q, standard error %q", err, o.out, o.err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Fatalf("more than one document: %q", o.out)
	}
	if d.OK != (o.exit == 0) || d.OK != (d.Error == nil) || d.OK != (d.Result != nil) ||
		d.Error != nil && d.Error.Data == nil {
		t.Fatalf("exit code %d with the document %q", o.exit, o.out)
	}
	return d
}

// result decodes the result of a command that succeeded.
func result[R any](t *testing.T, o outcome) R {
	t.Helper()
	var r R
	if err := json.Unmarshal(o.document(t).Result, &r); err != nil {
		t.Fatalf("%v: %q", err, o.out)
	}
	return r
}

// developmentAccount is the account called name.
func developmentAccount(t *testing.T, name string) types.Account {
	t.Helper()
	account, err := argument.ParseAccount(keystore.Open(t.TempDir()), name)
	if err != nil {
		t.Fatal(err)
	}
	return account.ID
}
