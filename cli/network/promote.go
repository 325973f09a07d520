package network

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

const (
	// promotePoll is the interval of checking whether the node produces blocks, and promoteTime the time limit for
	// that.
	promotePoll = 100 * time.Millisecond
	promoteTime = time.Minute
	// maxPromoteLag is the greatest number of blocks that the node may be behind before it becomes the producer.
	maxPromoteLag = 2
)

// promotion is the result of cairn promote.
type promotion struct {
	Producer        types.PublicKey `json:"producer"`
	TransactionHash types.TxID      `json:"transactionHash"`
	Height          types.Height    `json:"height"`     // height of the previous producer's last block
	FirstBlock      types.Height    `json:"firstBlock"` // first block known to be from the new producer
	Seconds         float64         `json:"seconds"`    // from the receipt to that block
}

// forcedPromotion is the result of cairn promote with an override.
type forcedPromotion struct {
	Producer types.PublicKey `json:"producer"`
	Height   types.Height    `json:"height"` // height of the first block with the new parameters
	File     string          `json:"file"`
	Setting  string          `json:"setting"` // setting with which every node must be started
}

func newPromote(a *session.App) *cobra.Command {
	var flags submit.Flags
	var keyFile, override string
	var yes bool
	command := a.Define(&cobra.Command{
		Use:   "promote",
		Short: "Hand block production over to a node (planned or manual failover)",
		Long: `Hand block production over to the node at --rpc-url, which follows the chain and was
started with its own key (cairn node --mode replica --upstream URL --protocol-key FILE).
The admin signs the transaction, with --admin-key or --from. The current producer cannot
sign any block after it; the new one produces the next block as soon as it has that
block. If the old producer has an --upstream, it follows from then on, and forwards its
pending transactions.

If the producer's machine is lost but its key is not, use --from-dead: the data
directory of a stopped replica continues the chain with the producer's --protocol-key.
The command asks every other replica for its head, and refuses if one has more blocks.

If the producer's key is lost too, no block can contain the admin's transaction. Use
--override: it writes parameters that name this node as producer. They are a hard fork,
and every node of the chain must be started with them.`,
		Example: `  cairn promote --rpc-url http://10.0.0.2:8777 --admin-key admin.key
  cairn promote --from-dead --data-dir ./replica1 --protocol-key protocol.key --replica http://10.0.0.3:8777
  cairn promote --rpc-url http://10.0.0.2:8777 --override parameters.json`,
		Args: invoke.Exactly(),
	}, session.SenderSettings, func(ctx context.Context, s *session.Session, command *cobra.Command, _ []string) error {
		if keyFile != "" && override != "" {
			return output.Usage(errors.New("give either --admin-key or --from; if the producer's key is lost, give " +
				"--override"))
		}
		if override != "" {
			next, err := promoted(ctx, s)
			if err != nil {
				return err
			}
			return promoteByOverride(ctx, s, next, override, yes)
		}
		admin, err := admin(s, keyFile, flags.Unsigned())
		if err != nil {
			return err
		}
		next, err := promoted(ctx, s)
		if err != nil {
			return err
		}
		return promote(ctx, s, command, &flags, admin, next)
	})
	adminKeyFlag(command, &keyFile)
	command.Flags().StringVar(
		&override, "override", "",
		"for a chain whose producer's key is lost: file to write parameters to that name this node as producer",
	)
	command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation before writing an override or promoting "+
		"a directory")
	flags.Register(a, command)
	return command
}

// promoted returns the chain's parameters with the node as producer. It fails unless the node is able to take over.
func promoted(ctx context.Context, s *session.Session) (next types.Parameters, err error) {
	ctx, cancel := s.Patience(ctx)
	defer cancel()
	node, err := s.Client.NodeInfo(ctx)
	if err != nil {
		return next, err
	}
	status, err := s.Client.SyncStatus(ctx)
	if err != nil {
		return next, err
	}
	info, err := s.Client.Parameters(ctx)
	if err != nil {
		return next, err
	}
	next = parametersOf(info)
	present := next.Producer
	switch {
	case node.ProducerKey == nil:
		return next, fmt.Errorf(
			"the node at %s has no key to produce blocks with: start it with --protocol-key FILE", s.Settings.RPCURL,
		)
	case status.State == api.StateHalted:
		return next, fmt.Errorf("the node at %s has halted: %s", s.Settings.RPCURL, reasonOf(status))
	case status.BlocksBehind != nil && *status.BlocksBehind > maxPromoteLag:
		return next, fmt.Errorf(
			"the node at %s is %d blocks behind: wait until it is synced", s.Settings.RPCURL, *status.BlocksBehind,
		)
	}
	if next.Producer = *node.ProducerKey; next.Producer == present {
		return next, fmt.Errorf("the node at %s is already the producer", s.Settings.RPCURL)
	}
	return next, nil
}

func reasonOf(status api.SyncStatus) string {
	if status.Reason == nil {
		return "no reason given"
	}
	return *status.Reason
}

// promote sends the transaction and waits until the node produces blocks.
func promote(
	ctx context.Context, s *session.Session, command *cobra.Command, flags *submit.Flags, admin argument.Account,
	next types.Parameters,
) error {
	receipt, err := flags.Send(ctx, s, command, admin, client.Configure(next))
	if receipt == nil || err != nil {
		return err
	}
	if err := client.Failure(*receipt); err != nil {
		return err
	}
	began := time.Now()
	stop := s.Spin(s.Terminal, "Waiting for the node's first block")
	first, err := firstBlock(ctx, s, receipt.BlockHeight)
	stop()
	if err != nil {
		return fmt.Errorf("production was handed over in block %d, %w", receipt.BlockHeight, err)
	}
	result := promotion{
		next.Producer, receipt.TransactionHash, receipt.BlockHeight, first,
		time.Since(began).Round(time.Millisecond).Seconds(),
	}
	s.Note("Now set mode = \"primary\" for this node: otherwise it waits for an upstream when it is restarted.")
	return s.Result(result, func(t *output.Text) {
		t.Fields(output.Field{Name: "Producer", Value: result.Producer},
			output.Field{Name: "Transaction", Value: result.TransactionHash},
			output.Field{Name: "Last block of the one before", Value: result.Height},
			output.Field{Name: "First block of this one", Value: result.FirstBlock},
			output.Field{Name: "Seconds between", Value: result.Seconds})
	})
}

// firstBlock waits until the node has produced a block above handedOver, and returns the first such height.
func firstBlock(ctx context.Context, s *session.Session, handedOver types.Height) (types.Height, error) {
	ctx, cancel := context.WithTimeout(ctx, promoteTime)
	defer cancel()
	ticker := time.NewTicker(promotePoll)
	defer ticker.Stop()
	for {
		status, err := s.Client.SyncStatus(ctx)
		if err == nil && status.State == api.StateProducing && status.LocalHeight > handedOver {
			return handedOver + 1, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if err == nil {
				err = fmt.Errorf("its state is %s", status.State)
			}
			return 0, fmt.Errorf("and the node at %s makes no block: %w", s.Settings.RPCURL, err)
		}
	}
}

// promoteByOverride writes the parameters of a hard fork that makes the node the producer.
func promoteByOverride(ctx context.Context, s *session.Session, next types.Parameters, path string, yes bool) error {
	asking, cancel := s.Patience(ctx)
	defer cancel()
	head, err := s.Client.BlockNumber(asking)
	if err != nil {
		return err
	}
	height := head + 1
	s.Note(`This is a hard fork, for a chain whose producer's key is lost. Before you start any node with it:
  - the old producer must be stopped for good, otherwise the chain splits in two;
  - block %d must be the newest block of any node. Later blocks are lost, together with their transactions;
  - every node, and everyone who verifies the chain, must set the same parameters before the same block.`, head)
	if err := s.Confirm(
		ctx, yes, fmt.Sprint(height), fmt.Sprintf("Block %d will be the first with the new parameters.", height),
	); err != nil {
		return err
	}
	content, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(content, '\n'))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	result := forcedPromotion{next.Producer, height, path, fmt.Sprintf("--override-parameters %d:%s", height, path)}
	s.Note("In addition, start the new producer with --mode primary.")
	return s.Result(result, func(t *output.Text) {
		t.Fields(output.Field{Name: "Producer", Value: hex.EncodeToString(
			next.Producer[:],
		)}, output.Field{Name: "From block", Value: result.Height},
			output.Field{Name: "Parameters", Value: result.File},
			output.Field{Name: "Start every node with", Value: result.Setting})
	})
}
