package network

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// parameterFlags holds the flags of cairn configure. Parameters whose flags are not given stay unchanged.
type parameterFlags struct {
	gasLimit, minBaseFee, maxBaseFee uint64
	blockBytes                       uint32
	targetBPS                        uint16
	producer, feeRecipient, admin    string
	notice                           time.Duration
}

func newConfigure(a *session.App) *cobra.Command {
	var flags submit.Flags
	var parameters parameterFlags
	var keyFile string
	command := a.Define(&cobra.Command{
		Use:   "configure",
		Short: "Change the chain's parameters, as the admin",
		Long: `Change the chain's parameters with a transaction by the admin, and wait until it is in a
block. The admin signs with --admin-key or, like any account, with --from. Parameters
without a flag stay unchanged. The new parameters apply from the next block on.

--producer hands production over: the current producer cannot sign any later block.
--admin transfers the right to change parameters; to share it among several people, name
a policy. "cairn upgrade" announces a new protocol version.`,
		Example: `  cairn configure --admin-key data/admin.key --gas-limit 60000000
  cairn configure --admin-key data/admin.key --min-base-fee 12 --fee-recipient alice --dry-run
  cairn configure --from board --admin newboard --draft change.json`,
		Args: invoke.Exactly(),
	}, session.SenderSettings, func(ctx context.Context, s *session.Session, command *cobra.Command, _ []string) error {
		admin, err := admin(s, keyFile, flags.Unsigned())
		if err != nil {
			return err
		}
		present, next, err := nextParameters(ctx, s, command, parameters)
		if err != nil {
			return err
		}
		if next.Equal(present) {
			return output.Usage(errors.New("nothing to change: give a parameter's flag with a value different from " +
				"the current one"))
		}
		if next.Admin != present.Admin {
			s.Note("Warning: after this only %s can change the parameters.", next.Admin)
		}
		return flags.Submit(ctx, s, command, admin, client.Configure(next))
	})
	adminKeyFlag(command, &keyFile)
	parameters.register(command)
	a.CompleteAccount(command, "producer", "fee-recipient", "admin")
	flags.Register(a, command)
	return command
}

// adminKeyFlag adds the flag for the key of the chain's admin.
func adminKeyFlag(command *cobra.Command, file *string) {
	command.Flags().StringVar(file, "admin-key", "", "file with the admin's private key, 64 hex digits; alternative "+
		"to --from")
	command.MarkFlagsMutuallyExclusive("admin-key", "from")
}

// admin returns the account that signs as the chain's admin: of a key file, or of --from.
func admin(s *session.Session, keyFile string, unsigned bool) (argument.Account, error) {
	if keyFile == "" {
		return submit.Sender(s, unsigned)
	}
	key, err := readKeyFile(keyFile)
	if err != nil {
		return argument.Account{}, output.Usage(err)
	}
	return argument.OfKey(key, keyFile), nil
}

func (p *parameterFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.Uint64Var(&p.gasLimit, "gas-limit", 0, "gas limit of a block")
	flags.Uint32Var(&p.blockBytes, "block-bytes", 0, "maximum total size of a block's transactions, in bytes")
	flags.Uint16Var(&p.targetBPS, "target-bps", 0, "gas target: share of the gas limit at which the base fee stays "+
		"unchanged, in basis points (1/10000)")
	flags.Uint64Var(&p.minBaseFee, "min-base-fee", 0, "lower bound of the base fee, in smallest units per gas")
	flags.Uint64Var(&p.maxBaseFee, "max-base-fee", 0, "upper bound of the base fee, in smallest units per gas")
	flags.StringVar(&p.producer, "producer", "", "account whose key signs blocks")
	flags.StringVar(&p.feeRecipient, "fee-recipient", "", "account that receives the priority fees")
	flags.StringVar(&p.admin, "admin", "", "account that may change the parameters")
	flags.DurationVar(&p.notice, "notice", 0, "minimum notice for upgrades; it can never be shortened again")
}

func readKeyFile(path string) (crypto.PrivateKey, error) {
	text, err := session.ReadSecretFile(path)
	if err != nil {
		return crypto.PrivateKey{}, err
	}
	return keystore.ParsePrivateKey(text)
}

// nextParameters returns the chain's parameters, and the same with the changes of the flags.
func nextParameters(
	ctx context.Context, s *session.Session, command *cobra.Command, flags parameterFlags,
) (present, next types.Parameters, err error) {
	producer, err := optionalAccount(s, flags.producer)
	if err != nil {
		return present, next, err
	}
	recipient, err := optionalAccount(s, flags.feeRecipient)
	if err != nil {
		return present, next, err
	}
	admin, err := optionalAccount(s, flags.admin)
	if err != nil {
		return present, next, err
	}
	if err := submit.OnChain(ctx, s, slices.Concat(producer, recipient, admin)...); err != nil {
		return present, next, err
	}
	ctx, cancel := s.Patience(ctx)
	defer cancel()
	info, err := s.Client.Parameters(ctx)
	if err != nil {
		return present, next, err
	}
	present = parametersOf(info)
	next = present
	given := func(name string) bool { return command.Flags().Changed(name) }
	if given("gas-limit") {
		next.GasLimit = types.Gas(flags.gasLimit)
	}
	if given("target-bps") {
		next.TargetBPS = flags.targetBPS
	}
	if given("min-base-fee") {
		next.MinBaseFee = types.Amount(flags.minBaseFee)
	}
	if given("max-base-fee") {
		next.MaxBaseFee = types.Amount(flags.maxBaseFee)
	}
	if given("block-bytes") {
		next.BlockBytes = flags.blockBytes
	}
	if given("notice") {
		if flags.notice < 0 {
			return present, next, output.Usage(errors.New("--notice must be positive"))
		}
		next.Notice = uint64(flags.notice.Milliseconds())
	}
	for _, account := range producer {
		next.Producer = types.PublicKey(account.ID)
	}
	for _, account := range recipient {
		next.FeeRecipient = account.ID
	}
	for _, account := range admin {
		next.Admin = account.ID
	}
	return present, next, nil
}

// optionalAccount parses an account argument; "" gives none.
func optionalAccount(s *session.Session, text string) ([]argument.Account, error) {
	if text == "" {
		return nil, nil
	}
	account, err := s.Account(text)
	return []argument.Account{account}, err
}
