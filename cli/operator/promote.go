package operator

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

// deadPrimary holds the flags of `cairn promote --from-dead`.
type deadPrimary struct {
	is       bool
	dataDir  string
	keyFile  string
	lockDir  string
	replicas []string
	tokens   string // file
	roots    string // file
	alone    bool
}

// fromDead adds --from-dead to `cairn promote`: it promotes the directory of a stopped replica after the loss of the
// producer's machine.
func fromDead(promote *cobra.Command) {
	var d deadPrimary
	flags := promote.Flags()
	flags.BoolVar(
		&d.is,
		"from-dead",
		false,
		"manual failover after the producer's machine is lost for good: promote the data directory of a stopped "+
			"replica",
	)
	flags.StringVar(&d.dataDir, "data-dir", "", "with --from-dead: data directory of the next producer")
	flags.StringVar(
		&d.keyFile, "protocol-key", "", "with --from-dead: file with the producer's private key, 64 hex digits",
	)
	flags.StringVar(
		&d.lockDir, "lock-dir", "", "with --from-dead: directory of the key's sign state, which protects against "+
			"double-signing (default: the key's directory)",
	)
	flags.StringSliceVar(
		&d.replicas, "replica", nil,
		"with --from-dead: URL of another replica, which must not have more blocks; repeat for each replica",
	)
	flags.StringVar(
		&d.tokens, "upstream-key-file", "", "with --from-dead: file with the API key or JWT for the replicas",
	)
	flags.StringVar(
		&d.roots, "upstream-ca-file", "",
		"with --from-dead: file of CA certificates (PEM) trusted for the replicas, in addition to the system's",
	)
	flags.BoolVar(&d.alone, "alone", false, "with --from-dead: there is no other replica")
	handOver := promote.RunE
	promote.RunE = func(command *cobra.Command, args []string) error {
		if !d.is {
			return handOver(command, args)
		}
		return d.promote(command, flags.Lookup("yes").Value.String() == "true")
	}
}

// taken is the result of `cairn promote --from-dead`.
type taken struct {
	Producer types.PublicKey   `json:"producer"`
	Head     types.Height      `json:"head"`
	Hash     types.BlockHash   `json:"hash"`
	Replicas []datadir.Replica `json:"replicas"`
	DataDir  string            `json:"dataDir"`
}

// promote compares the directory with the other replicas and then allows the key to make blocks after its head.
func (d deadPrimary) promote(command *cobra.Command, yes bool) error {
	switch {
	case d.dataDir == "" || d.keyFile == "":
		return output.Usage(errors.New(
			"--from-dead needs --data-dir, the directory of the next producer, and --protocol-key, the producer's key",
		))
	case d.alone == (len(d.replicas) > 0):
		return output.Usage(errors.New("name every other replica with --replica, or confirm with --alone that there " +
			"are none"))
	}
	key, err := datadir.ReadProtocolKey(d.keyFile)
	if err != nil {
		return output.Usage(err)
	}
	replicas := datadir.Upstreams{URLs: d.replicas, KeyFile: d.tokens, CAFile: d.roots}
	if err := replicas.Check(); err != nil {
		return output.Usage(err)
	}
	result := taken{Producer: key.PublicKey(), DataDir: d.dataDir}
	err = lookThenDo(d.dataDir, func(dir *datadir.Dir) error {
		head, err := headOf(dir)
		if err != nil {
			return err
		}
		result.Head, result.Hash = head.Height, head.Hash()
		if result.Replicas, err = dir.Compare(command.Context(), replicas); err != nil {
			return err
		}
		invoke.PrinterOf(command).Note("%s", d.risks(result))
		question := fmt.Sprintf("Block %d will be the first one made here.", head.Height+1)
		return session.Confirm(command, yes, fmt.Sprint(head.Height+1), question)
	}, func(dir *datadir.Dir) error {
		if head, err := headOf(dir); err != nil || head.Hash() != result.Hash {
			return errors.Join(err, errChangedMeanwhile)
		}
		return dir.Promote(key.PublicKey(), cmp.Or(d.lockDir, filepath.Dir(d.keyFile)))
	})
	if err != nil {
		return err
	}
	return invoke.PrinterOf(command).Result(result, func(t *output.Text) {
		t.Fields(output.Field{Name: "Producer", Value: result.Producer}, output.Field{Name: "Head", Value: result.Head},
			output.Field{Name: "Block", Value: result.Hash})
		t.Line("Start it with: cairn node --mode primary --data-dir %s --protocol-key %s", d.dataDir, d.keyFile)
	})
}

func headOf(dir *datadir.Dir) (types.Header, error) {
	store, err := dir.Store()
	if err != nil {
		return types.Header{}, err
	}
	return store.Head().Header, nil
}

// risks returns the text to read before the confirmation.
func (d deadPrimary) risks(result taken) string {
	var text strings.Builder
	fmt.Fprintf(&text, `This lets %s produce the chain's next blocks with the producer's key. Before you confirm:
  - the old producer must be off, and must never come back with the key: two nodes with one key double-sign, and the chain forks;
  - no replica may have more blocks than this directory, which ends at block %d. Only the replicas you named were checked.`, d.dataDir,
		result.Head)
	for _, r := range result.Replicas {
		fmt.Fprintf(&text, "\n%s has the same blocks as this directory, up to block %d.", r.URL, r.Head)
		if r.Told > result.Head {
			fmt.Fprintf(
				&text,
				" It has learned of block %d. If no node has blocks %d to %d, they are lost and will be replaced.",
				r.Told, result.Head+1, r.Told,
			)
		}
	}
	return text.String()
}
