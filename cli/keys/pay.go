package keys

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/sender"
	"github.com/cairn-chain/cairn/types"
)

// maxPayFile bounds the size of a file of payments. It allows more than 100,000 payments.
const maxPayFile = 16 << 20

// payRun is the result of cairn pay.
type payRun struct {
	Payments int            `json:"payments"`
	Amount   api.Quantity   `json:"amount"` // sum of the payments
	Batches  []payBatchDone `json:"batches"`
}

// payBatchDone is a transaction of cairn pay.
type payBatchDone struct {
	ID              string       `json:"id"` // in the journal
	First           int          `json:"first"`
	Payments        int          `json:"payments"`
	TransactionHash types.TxID   `json:"transactionHash"`
	BlockHeight     types.Height `json:"blockHeight"`
	Fee             api.Quantity `json:"fee"`
}

// paying are the flags of cairn pay.
type paying struct {
	submit.Flags
	journal string
	yes     bool
}

func newPay(a *session.App) *cobra.Command {
	var flags paying
	command := a.Define(&cobra.Command{
		Use:   "pay FILE",
		Short: "Make the payments listed in a file, in batches",
		Long: fmt.Sprintf(`Make the payments listed in a file, in batches of at most %d payments, and wait until
they are in blocks. Each batch is one transaction: either all its payments are made or
none.

Each line of FILE is ACCOUNT,AMOUNT or ACCOUNT,AMOUNT,MEMO, with quotes as in CSV; lines
that begin with # are ignored. Accounts, amounts and memos are written as for "cairn
send". The whole file is read and checked before anything is sent.

With --journal, a file that is created if needed, no batch is paid twice: after a crash
or an error, run the same command again.`,
			types.MaxBatchSteps),
		Example: "  cairn pay salaries.csv --from company --journal salaries.journal\n  cairn pay salaries.csv --from company --dry-run",
		Args:    invoke.Exactly("FILE"),
	}, session.SenderSettings, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		return flags.pay(ctx, s, args[0])
	})
	f := command.Flags()
	f.StringVar(&flags.journal, "journal", "", "journal file of sent batches, which prevents paying a batch twice")
	f.Uint64Var(&flags.MaxFee, submit.MaxFeeFlag, 0, "maximum fee per gas, in smallest units (default: no limit)")
	f.StringVar(&flags.Payer, submit.PayerFlag, "", "account that pays the fees (default: the sender)")
	f.DurationVar(&flags.ValidFor, submit.ValidForFlag, 0,
		"how long a batch stays valid for inclusion in a block (default: no limit; with --payer 5m, at most 10m)")
	f.BoolVar(&flags.DryRun, "dry-run", false, "show the payments without making them")
	f.BoolVar(&flags.yes, "yes", false, "do not ask for confirmation")
	a.CompleteAccount(command, submit.PayerFlag)
	return command
}

func (p *paying) pay(ctx context.Context, s *session.Session, path string) error {
	from, err := submit.Sender(s, p.DryRun)
	if err != nil {
		return err
	}
	text, err := readPayments(path)
	if err != nil {
		return output.Usage(err)
	}
	asking, cancel := s.Patience(ctx)
	defer cancel()
	chain, err := s.Chain(asking)
	if err != nil {
		return err
	}
	if err := from.On(chain); err != nil {
		return output.Usage(err)
	}
	actions, sum, err := parsePayments(s, text, chain)
	if err != nil {
		return output.Usage(fmt.Errorf("%s: %w", path, err))
	}
	run := payRun{Payments: len(actions), Amount: api.Quantity(sum), Batches: []payBatchDone{}}
	question := fmt.Sprintf("%s, %s in all, from %s.", plural(len(actions), "payment"), show.Coins(sum),
		chain.Network.Address(from.ID))
	if p.DryRun {
		return s.Result(run, func(t *output.Text) { t.Line("%s", question) })
	}
	if err := s.Confirm(ctx, p.yes, "pay", question); err != nil {
		return err
	}
	keys, err := p.Unlock(ctx, s, from, types.Batch{})
	if err != nil {
		return err
	}
	err = p.send(ctx, s, keys, path, text, actions, &run)
	if err != nil {
		return payFailed(s, err, run, p.journal != "")
	}
	return s.Result(run, func(t *output.Text) {
		t.Line("%s", question)
		for _, b := range run.Batches {
			t.Line("payments %d to %d: block %d, fee %s, %s", b.First, b.First+b.Payments-1, b.BlockHeight,
				show.Coins(b.Fee),
				b.TransactionHash)
		}
	})
}

// readPayments reads a file of payments.
func readPayments(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxPayFile+1))
	if err == nil && len(text) > maxPayFile {
		err = fmt.Errorf("%s is longer than %d bytes: split it", path, maxPayFile)
	}
	return text, err
}

// parsePayments returns the payments of a file and their sum. The error names the line.
func parsePayments(s *session.Session,
	text []byte, chain argument.Chain,
) (actions []client.Action, sum types.Amount, err error) {
	reader := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(text), "\ufeff")))
	reader.Comment, reader.FieldsPerRecord, reader.TrimLeadingSpace = '#', -1, true
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		line, _ := reader.FieldPos(0)
		action, err := parsePayment(s, record, chain)
		if err == nil {
			sum, err = sum.Add(action.Value)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", line, err)
		}
		actions = append(actions, action)
	}
	if len(actions) == 0 {
		return nil, 0, errors.New("the file contains no payments")
	}
	return actions, sum, nil
}

func parsePayment(s *session.Session, record []string, chain argument.Chain) (client.Action, error) {
	if len(record) != 2 && len(record) != 3 {
		return client.Action{}, fmt.Errorf("it has %d fields: write ACCOUNT,AMOUNT or ACCOUNT,AMOUNT,MEMO", len(record))
	}
	to, err := s.Account(strings.TrimSpace(record[0]))
	if err != nil {
		return client.Action{}, err
	}
	if err := to.On(chain); err != nil {
		return client.Action{}, err
	}
	amount, err := argument.ParseAmount(strings.TrimSpace(record[1]))
	if err != nil || len(record) == 2 || record[2] == "" {
		return client.Transfer(to.ID, amount), err
	}
	memo, err := parseMemo(record[2])
	return client.TransferWithMemo(to.ID, amount, memo), err
}

// send sends the payments in batches and waits for all of them.
func (p *paying) send(
	ctx context.Context, s *session.Session, keys submit.Signers, path string, text []byte, actions []client.Action,
	run *payRun,
) (err error) {
	options := sender.Options{
		MaxFee: types.Amount(p.MaxFee), Poll: submit.SweepPoll, Payer: keys.Payer, ValidFor: p.ValidFor,
	}
	if p.journal != "" {
		options.Journal = sender.NewFile(p.journal)
	}
	opening, cancel := s.Patience(ctx)
	defer cancel()
	payer, err := sender.Open(opening, s.Client, keys.Sender, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, payer.Close()) }()
	name := sha256.Sum256(text)
	var sent []*sender.Sent
	for number, some := range enumerate(slices.Chunk(actions, types.MaxBatchSteps)) {
		id := fmt.Sprintf("pay %s %d", hex.EncodeToString(name[:16]), number)
		job, err := payer.Send(ctx, client.Steps(some...), sender.Job{ID: id})
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		sent = append(sent, job)
	}
	stop := s.Spin(s.Terminal, "Waiting for blocks")
	defer stop()
	for number, job := range sent {
		receipt, err := job.Receipt(ctx)
		if err == nil {
			err = client.Failure(receipt)
		}
		first := number * types.MaxBatchSteps
		count := min(types.MaxBatchSteps, len(actions)-first)
		if err != nil {
			return fmt.Errorf("payments %d to %d: %w", first+1, first+count, err)
		}
		run.Batches = append(run.Batches, payBatchDone{
			job.ID(), first + 1, count, receipt.TransactionHash, receipt.BlockHeight, receipt.Fee,
		})
	}
	return nil
}

// enumerate yields the items of a sequence with their numbers.
func enumerate[T any](items func(yield func(T) bool)) func(yield func(int, T) bool) {
	return func(yield func(int, T) bool) {
		number := 0
		for item := range items {
			if !yield(number, item) {
				return
			}
			number++
		}
	}
}

// payFailed adds to an error which payments were made, and the next step.
func payFailed(s *session.Session, err error, run payRun, journalled bool) error {
	paid := 0
	for _, b := range run.Batches {
		paid += b.Payments
	}
	what := fmt.Sprintf("%v; the first %s have been made", err, plural(paid, "payment"))
	if journalled {
		what += ". Run the same command again to continue with the others; nobody is paid twice"
	} else {
		what += ", and some of the others may have been made: check them before you pay again, and use --journal"
	}
	return output.WithData(session.Reworded(err, what), map[string]any{"batches": run.Batches})
}

// paymentsOf returns the newest payments of an account, at most limit. It may need several requests, as the node may
// return fewer at a time.
func paymentsOf(ctx context.Context, s *session.Session, account types.Account, limit uint64) ([]api.Payment, error) {
	payments := []api.Payment{}
	filter := api.PaymentFilter{Accounts: []string{account.String()}, Order: api.OrderDescending}
	for uint64(len(payments)) < limit {
		filter.Limit = new(limit - uint64(len(payments)))
		page, err := s.Client.PaymentPage(ctx, filter)
		if err != nil {
			return nil, err
		}
		payments = append(payments, page.Payments...)
		if page.Complete {
			break
		}
		filter.Cursor = page.Resume
	}
	return payments, nil
}

// paymentTable lists payments of an account, one per line.
func paymentTable(t *output.Text, payments []api.Payment, of types.Account, name func(types.Account) string) {
	rows := make([][]any, len(payments))
	for i, p := range payments {
		direction, other := "in", p.From
		switch {
		case p.From == p.To:
			direction = "self"
		case p.From == of:
			direction, other = "out", p.To
		}
		rows[i] = []any{
			show.BlockTime(p.Timestamp), direction, show.Coins(p.Amount), name(other), p.Kind, show.MemoText(p.Memo),
			p.TransactionHash,
		}
	}
	t.Table([]string{"Time", "Payment", "Amount", "Counterparty", "By", "Memo", "Transaction"}, rows)
}
