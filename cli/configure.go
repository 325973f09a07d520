package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// parameterFlags holds the flags of cairn configure. Parameters whose flags are not given stay unchanged.
type parameterFlags struct {
	gasLimit, minBaseFee, maxBaseFee uint64
	targetBPS                        uint16
	version                          uint32
	producer, feeRecipient           string
}

func (a *app) newConfigure() *cobra.Command {
	var flags submission
	var parameters parameterFlags
	var keyFile string
	command := a.define(&cobra.Command{
		Use:   "configure",
		Short: "Change the chain's parameters, as its producer",
		Long: `Change the chain's parameters with a transaction signed by the key of its producer, and wait until it is in a
block. What no flag gives stays as it is. The parameters hold from the next block on.

--producer hands production over: the present producer cannot sign a block after it.`,
		Example: `  cairn configure --protocol-key data/protocol.key --gas-limit 60000000
  cairn configure --protocol-key data/protocol.key --min-base-fee 12 --fee-recipient alice --dry-run`,
		Args: exactly(),
	}, nodeSettings, func(ctx context.Context, s *session, command *cobra.Command, _ []string) error {
		key, err := readKeyFile(keyFile)
		if err != nil {
			return output.Usage(err)
		}
		present, next, err := s.nextParameters(ctx, command, parameters)
		if err != nil {
			return err
		}
		if next == present {
			return output.Usage(errors.New("nothing changes: give a parameter's flag with another value than the present one"))
		}
		if next.Version > a.build.ProtocolVersion {
			s.Note("Warning: this program knows protocol version %d. Nodes that do not know version %d halt before the first "+
				"block that needs it.",
				a.build.ProtocolVersion, next.Version)
		}
		return flags.submit(ctx, s, command, client.NewSigner(key).Account(), client.Configure(next),
			func() (crypto.PrivateKey, error) { return key, nil })
	})
	command.Flags().StringVar(&keyFile, "protocol-key", "", "file with the producer's private key, 64 hex digits")
	// Fails only for a flag that does not exist.
	_ = command.MarkFlagRequired("protocol-key")
	parameters.register(command)
	a.completeAccount(command, "producer", "fee-recipient")
	flags.register(command)
	return command
}

func (p *parameterFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.Uint64Var(&p.gasLimit, "gas-limit", 0, "gas of a block")
	flags.Uint16Var(&p.targetBPS, "target-bps", 0, "share of the gas limit at which the base fee stands still, in 1/10000")
	flags.Uint64Var(&p.minBaseFee, "min-base-fee", 0, "the base fee's lower bound, in smallest units per gas")
	flags.Uint64Var(&p.maxBaseFee, "max-base-fee", 0, "the base fee's upper bound, in smallest units per gas")
	flags.StringVar(&p.producer, "producer", "", "account of the key that signs blocks")
	flags.StringVar(&p.feeRecipient, "fee-recipient", "", "account that receives the priority fees")
	flags.Uint32Var(&p.version, "version", 0, "version of protocol rules and gas schedule: the present one or the next")
}

func readKeyFile(path string) (crypto.PrivateKey, error) {
	text, err := readSecretFile(path)
	if err != nil {
		return crypto.PrivateKey{}, err
	}
	return keystore.ParsePrivateKey(text)
}

// nextParameters returns the chain's parameters, and the same with the changes of the flags.
func (s *session) nextParameters(
	ctx context.Context, command *cobra.Command, flags parameterFlags,
) (present, next types.Parameters, err error) {
	producer, err := s.optionalAccount(flags.producer)
	if err != nil {
		return present, next, err
	}
	recipient, err := s.optionalAccount(flags.feeRecipient)
	if err != nil {
		return present, next, err
	}
	if err := s.onChain(ctx, append(producer, recipient...)...); err != nil {
		return present, next, err
	}
	ctx, cancel := s.patience(ctx)
	defer cancel()
	info, err := s.client.Parameters(ctx)
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
	if given("version") {
		next.Version = flags.version
	}
	for _, account := range producer {
		next.Producer = types.PublicKey(account.ID)
	}
	for _, account := range recipient {
		next.FeeRecipient = account.ID
	}
	return present, next, nil
}

// optionalAccount parses an account argument; "" gives none.
func (s *session) optionalAccount(text string) ([]argument.Account, error) {
	if text == "" {
		return nil, nil
	}
	account, err := s.account(text)
	return []argument.Account{account}, err
}

func parametersOf(info api.ParametersInfo) types.Parameters {
	return types.Parameters{
		Version:      info.Version,
		GasLimit:     info.GasLimit,
		TargetBPS:    info.TargetBPS,
		MinBaseFee:   info.MinBaseFee,
		MaxBaseFee:   info.MaxBaseFee,
		Producer:     info.Producer,
		FeeRecipient: info.FeeRecipient,
	}
}
