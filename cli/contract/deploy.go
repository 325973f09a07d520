package contract

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/types"
)

// deployment holds the flags of the commands that deploy a contract.
type deployment struct {
	submit.Flags
	name, args, alias, value string
}

// template is the source of a new contract's code: a file, or a contract with the same code.
type template struct {
	code []byte            // nil: the contract's
	of   *types.ContractID // nil: the code is sent
}

// deployedContract is the result of a deploy that was awaited.
type deployedContract struct {
	submit.Included
	Alias string `json:"alias,omitempty"` // name of the contract in the keystore
}

func newDeploy(a *session.App) *cobra.Command {
	var flags deployment
	command := a.Define(&cobra.Command{
		Use:   "deploy FILE.wasm|CONTRACT",
		Short: "Deploy a contract",
		Long: `Deploy a contract's WebAssembly code, and wait until the deployment is in a block.

If CONTRACT is given instead of a file, the new contract is another instance of it: it
shares the code, and has its own ID, storage and coins. No code is sent or compiled, so
this costs a hundredth of the first deployment.

Give the arguments of the function init as a JSON object by parameter name; accounts may
be given by name. --alias names the contract for later commands.`,
		Example: `  cairn deploy counter.wasm --from dev0 --alias counter
  cairn deploy counter --name another --from dev0 --alias another
  cairn deploy nep20.wasm --from dev0 --alias gold --args '{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":100000}'`,
		Args: invoke.Exactly("FILE"),
	}, session.SenderSettings, func(
		ctx context.Context, s *session.Session, command *cobra.Command, args []string,
	) error {
		from, err := deployable(ctx, s, args[0])
		if err != nil {
			return output.Usage(err)
		}
		return flags.deploy(ctx, s, command, from, []byte(flags.args))
	})
	command.Flags().StringVar(&flags.args, "args", "", "arguments of the function init, as a JSON object")
	flags.register(a, command)
	return command
}

func (f *deployment) register(a *session.App, command *cobra.Command) {
	command.Flags().StringVar(&f.name, "name", "", "name of the contract on the chain, at most 64 bytes")
	command.Flags().StringVar(&f.alias, "alias", "", "name for the contract in the keystore")
	command.Flags().StringVar(&f.value, "value", "0u", "coins to send to the contract")
	f.Flags.Register(a, command)
	f.RegisterGasLimit(command)
	command.MarkFlagsMutuallyExclusive("alias", "no-wait")
	command.MarkFlagsMutuallyExclusive("alias", "dry-run")
	command.MarkFlagsMutuallyExclusive("alias", submit.DraftFlag)
}

// deployable returns the code in a file, or a deployed contract whose code the new one gets.
func deployable(ctx context.Context, s *session.Session, argument string) (template, error) {
	if info, err := os.Stat(argument); filepath.Ext(argument) == ".wasm" || err == nil && info.Mode().IsRegular() {
		code, err := readCode(argument)
		return template{code: code}, err
	}
	asking, cancel := s.Patience(ctx)
	defer cancel()
	id, _, err := s.Contract(asking, argument)
	return template{of: &id}, err
}

// abiOf returns the ABI of a template's code. The error may be [abi.ErrNoABI].
func abiOf(ctx context.Context, s *session.Session, from template) (abi.ABI, error) {
	if from.of == nil {
		return abi.FromCode(from.code)
	}
	declared, err := s.Client.ContractABI(ctx, *from.of)
	if err != nil || declared == nil {
		return abi.ABI{}, cmp.Or(err, abi.ErrNoABI)
	}
	return *declared, nil
}

// readCode reads a contract's code from a file.
func readCode(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	code, err := io.ReadAll(io.LimitReader(file, types.MaxCodeBytes+1))
	if err != nil {
		return nil, err
	}
	if len(code) > types.MaxCodeBytes {
		return nil, fmt.Errorf("%s exceeds the maximum contract size of %d bytes", path, types.MaxCodeBytes)
	}
	return code, nil
}

// action returns what makes the contract.
func (t template) action(name string, args []byte, value types.Amount) client.Action {
	if t.of == nil {
		return client.Action{Value: value, Payload: types.Deploy{Name: name, Code: t.code, InitArgs: args}}
	}
	return client.Action{
		Target: types.Account(*t.of), Value: value, Payload: types.Instantiate{Name: name, InitArgs: args},
	}
}

// deploy makes the contract and writes the command's result. args is as given by the user.
func (f *deployment) deploy(
	ctx context.Context, s *session.Session, command *cobra.Command, source template, args []byte,
) error {
	value, err := argument.ParseAmount(f.value)
	if err != nil {
		return output.Usage(err)
	}
	from, err := submit.Sender(s, f.Unsigned())
	if err != nil {
		return err
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
	of := keystore.Chain{ID: chain.ID, Genesis: chain.Genesis}
	if f.alias != "" {
		if err := free(s, f.alias, of); err != nil {
			return output.Usage(err)
		}
	}
	encoded, err := initArgs(asking, s, chain, source, args)
	if err != nil {
		return output.Usage(err)
	}
	receipt, err := f.Send(ctx, s, command, from, source.action(f.name, encoded, value))
	if receipt == nil || err != nil {
		return explainExpensive(err, source.code)
	}
	if err := client.Failure(*receipt); err != nil {
		pointAtTrace(s, *receipt)
		return err
	}
	included, err := submit.Include(ctx, s, *receipt)
	if err != nil {
		return err
	}
	result := deployedContract{Included: included}
	if f.alias != "" {
		if _, err := s.Store.AddContract(f.alias, chain.Network, of, *receipt.ContractAddress); err != nil {
			return fmt.Errorf("the contract %s is deployed, but has no alias: %w", receipt.ContractAddress, err)
		}
		result.Alias = f.alias
	}
	return s.Result(result, func(t *output.Text) {
		fields := append(included.Fields(), output.Field{Name: "Contract", Value: *receipt.ContractAddress})
		if f.alias != "" {
			fields = append(fields, output.Field{Name: "Alias", Value: f.alias})
		}
		t.Fields(fields...)
	})
}

// explainExpensive adds the most expensive functions to the error of a deploy that cannot pay for its code.
func explainExpensive(err error, code []byte) error {
	var answer *client.Error
	if !errors.As(err, &answer) || answer.Data["reason"] != "out_of_gas" {
		return err
	}
	costliest, unreadable := contractbuild.Costliest(code, code)
	if unreadable != nil || len(costliest) == 0 {
		return err
	}
	return &client.Error{
		Code: answer.Code, Data: answer.Data,
		Message: fmt.Sprintf(
			"%s; most of the deployment's gas is for the functions %s", answer.Message, costliestText(costliest),
		),
	}
}

// free checks that a name may be given to a contract. The name of a contract on another chain may be reused.
func free(s *session.Session, name string, of keystore.Chain) error {
	entry, err := s.Store.Find(name)
	switch {
	case err == nil && entry.Chain != nil && *entry.Chain != of:
		return nil
	case err == nil:
		return fmt.Errorf(
			"%w: %s is already in the keystore; choose another name, or free it with cairn keys delete %s",
			keystore.ErrExists, name, name,
		)
	case errors.Is(err, keystore.ErrNotFound):
		return nil
	}
	return err
}

// initArgs encodes a deploy's arguments. It checks them against the code's ABI; without an ABI it returns them
// unchanged.
func initArgs(
	ctx context.Context, s *session.Session, chain argument.Chain, source template, args []byte,
) ([]byte, error) {
	declared, err := abiOf(ctx, s, source)
	if errors.Is(err, abi.ErrNoABI) {
		if len(args) > 0 && !json.Valid(args) {
			return nil, errors.New("the arguments are not JSON")
		}
		return args, nil
	}
	if err != nil {
		return nil, err
	}
	function, ok := declared.Function(abi.InitFunction)
	if !ok && len(args) > 0 {
		return nil, errors.New("the contract has no function init: omit --args")
	}
	encoded, err := declared.EncodeJSON(function.Args, args, resolver(s, chain))
	if err == nil && ok {
		encoded, err = declared.Arguments(function.Args, encoded)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; the contract needs --args for %s", err, function)
	}
	return encoded, nil
}
