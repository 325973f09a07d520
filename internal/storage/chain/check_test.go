package chain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// checkedStore is a store with rows in every table, pruned or not.
func checkedStore(t *testing.T, retention uint64) (*Store, *toyChain) {
	t.Helper()
	s, c := newStore(t, Options{Retention: retention}, 8)
	must(t, s.Prune(context.Background()))
	requireSound(t, s)
	return s, c
}

// change writes to the database behind the store's back and returns the findings of a check.
func change(t *testing.T, s *Store, write func(b *kv.Batch)) Report {
	t.Helper()
	b := s.db.NewBatch(0)
	write(b)
	must(t, s.db.Commit(b, true))
	again, err := Open(s.db, s.options)
	must(t, err)
	report, err := Check(context.Background(), again, nil)
	must(t, err)
	must(t, again.Close())
	return report
}

func requireProblem(t *testing.T, what string, report Report, says string) {
	t.Helper()
	for _, p := range report.Problems {
		if strings.Contains(p.Where+": "+p.What, says) {
			return
		}
	}
	t.Errorf("%s: no problem says %q: %q", what, says, report.Problems)
}

type row struct{ key, value []byte }

func rowsOf(t *testing.T, r kv.Reader, lower, upper []byte) (rows []row) {
	t.Helper()
	must(t, kv.Scan(r, lower, upper, func(key, value []byte) error {
		rows = append(rows, row{bytes.Clone(key), bytes.Clone(value)})
		return nil
	}))
	return rows
}

// TestCheckFindsEveryRow deletes, changes and doubles the first, middle and last row of every table. TestOpenRefuses
// tests the rows that Open needs.
func TestCheckFindsEveryRow(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	for _, retention := range []uint64{0, 3} {
		s, _ := checkedStore(t, retention)
		undo := func(write func(b *kv.Batch)) {
			b := s.db.NewBatch(0)
			write(b)
			must(t, s.db.Commit(b, false))
		}
		headHeader := tableHeaders.atHeight(s.Head().Header.Height)
		for _, table := range tablesInOrder() {
			// damage to a proof shows in the proof itself
			switch table {
			case tableMeta, tableWitnesses, tableSpent, tableProofs, tableRanges:
				continue
			}
			lower, upper := table.bounds()
			rows := rowsOf(t, s.db, lower, upper)
			if len(rows) < 2 {
				t.Fatalf("%s: only %d rows", allTables[table], len(rows))
			}
			for _, i := range []int{0, len(rows) / 2, len(rows) - 1} {
				row := rows[i]
				if bytes.Equal(row.key, headHeader) {
					continue
				}
				name := fmt.Sprintf("retention %d, %s, row %d of %d", retention, allTables[table], i, len(rows))
				restore := func(b *kv.Batch) { b.Set(row.key, row.value) }
				damage := map[string]func(b *kv.Batch){
					"deleted":    func(b *kv.Batch) { b.Delete(row.key) },
					"lengthened": func(b *kv.Batch) { b.Set(row.key, append(bytes.Clone(row.value), 0)) },
				}
				for _, at := range []int{0, len(row.value) / 2, len(row.value) - 1} {
					if at < 0 || at >= len(row.value) {
						continue
					}
					flipped := bytes.Clone(row.value)
					flipped[at] ^= 1
					damage[fmt.Sprintf("flipped at byte %d of %d", at, len(flipped))] = func(b *kv.Batch) { b.Set(row.key, flipped) }
				}
				for how, write := range damage {
					if report := change(t, s, write); report.OK() {
						t.Errorf("%s, %s: nothing is found", name, how)
					}
				}
				undo(restore)
				for _, at := range []int{1, len(row.key) / 2, len(row.key) - 1} {
					other := bytes.Clone(row.key)
					other[at] ^= 0x80
					report := change(t, s, func(b *kv.Batch) { b.Set(other, row.value) })
					if report.OK() {
						t.Errorf("%s, again under %x: nothing is found", name, other)
					}
					undo(func(b *kv.Batch) { b.Delete(other) })
				}
			}
			if report := change(t, s, func(*kv.Batch) {}); !report.OK() {
				t.Fatalf("%s, restored: %q", allTables[table], report.Problems)
			}
		}
	}
}

// TestCheckFindsState adds rows of state to a store that must have none.
func TestCheckFindsState(t *testing.T) {
	s, c := openStore(t, kv.Memory(), Options{Stateless: true}), newToyChain(t)
	must(t, s.Init(c.genesis, c.blocks[0].Entry))
	requireSound(t, s)
	// it has the rows of its blocks
	problems := map[table]string{tableCodes: "has the hash", tableCodeSizes: "a code's size of 1 bytes"}
	for _, table := range []table{
		tableState, tableLeaves, tableHistory, tableCodes, tableCodeSizes, tableDeploys, tableHolders, tableRanks,
	} {
		key := table.key([]byte("a key that is not the parameters'"))
		report := change(t, s, func(b *kv.Batch) { b.Set(key, []byte{1}) })
		requireProblem(t, allTables[table], report, cmp.Or(problems[table], "a row in a store without state"))
		must(t, func() error { b := s.db.NewBatch(0); b.Delete(key); return s.db.Commit(b, true) }())
	}
	if report := change(t, s, func(*kv.Batch) {}); !report.OK() {
		t.Errorf("without them: %q", report.Problems)
	}
}

// The log of a cluster's member is in the same database, and the check of the chain ignores it.
func TestCheckLeavesLogsAlone(t *testing.T) {
	s, _ := checkedStore(t, 0)
	if report := change(t, s, func(b *kv.Batch) { b.Set([]byte{'R', 4, 0, 0, 0, 0, 0, 0, 0, 1}, nil) }); !report.OK() {
		t.Errorf("got %q", report.Problems)
	}
}

// TestCheckNames checks the messages about damage that could be mistaken for sound data.
func TestCheckNames(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	s, c := checkedStore(t, 0)
	head := s.Head().Header.Height
	account := toyAccount(0)
	accountPath := tree.Path(state.AccountKey(account)).Bytes()
	hash, code := firstCode(t, c)
	header5 := c.blocks[5].Signed()
	for name, c := range map[string]struct {
		write func(b *kv.Batch)
		says  string
	}{
		"an unknown table": {
			func(b *kv.Batch) { b.Set([]byte("~~"), nil) }, "outside all tables: an orphaned row",
		},
		"an unknown meta row": {
			func(b *kv.Batch) { b.Set(tableMeta.key([]byte("other")), nil) }, `meta: an unknown row, "other"`,
		},
		"a header above the head": {
			func(b *kv.Batch) {
				b.Set(tableHeaders.atHeight(head+1), header5.Encode())
			}, "headers: an orphaned row",
		},
		"a run above the head": {
			func(b *kv.Batch) { b.Set(tableAccesses.at(head+1, 0), nil) }, "accesses: an orphaned row",
		},
		"an unsigned header": {func(b *kv.Batch) {
			other := header5
			other.Seal = types.Seal{}
			b.Set(tableHeaders.atHeight(5), other.Encode())
		}, "block 5: its seal is not its producer's"},
		"a header of another chain": {func(b *kv.Batch) {
			other := header5
			other.Header.ChainID++
			b.Set(tableHeaders.atHeight(5), other.Encode())
		}, "block 5: its header has chain id 31338"},
		"a time before the parent's": {func(b *kv.Batch) {
			other := header5
			other.Header.Timestamp -= 100_000
			b.Set(tableHeaders.atHeight(5), other.Encode())
		}, "block 5: its time"},
		"gas that does not add up": {func(b *kv.Batch) {
			other := header5
			other.Header.GasUsed++
			b.Set(tableHeaders.atHeight(5), other.Encode())
		}, "gas, but its header says"},
		"another genesis": {func(b *kv.Batch) {
			other := c.genesis
			other.Time++
			b.Set(keyGenesis, other.Encode())
		}, "block 0: its header, with height 0"},
		"a transaction ID too many": {
			func(b *kv.Batch) { b.Set(tableIDs.key(make([]byte, 32)), Position{5, 0}.encode()) },
			"block 5: a row too many in the table of transaction IDs",
		},
		"a transaction ID of no block": {
			func(b *kv.Batch) { b.Set(tableIDs.key(make([]byte, 32)), Position{500, 0}.encode()) },
			"transaction IDs: a row of block 500, which is pruned",
		},
		"an account's row too many": {
			func(b *kv.Batch) { b.Set(accountRow(types.Account{1}, 5), encodeIndices([]uint32{0})) },
			"block 5: a row too many in the table of accounts",
		},
		"history too much": {
			func(b *kv.Batch) { b.Set(historyRow([]byte{1}, 5), nil) },
			"block 5: a row too many in the table of history",
		},
		"history of the genesis": {
			func(b *kv.Batch) { b.Set(historyRow(state.AccountKey(account), 0), nil) },
			"block 0: a row too many in the table of history",
		},
		"code that no block brought": {func(b *kv.Batch) {
			// SHA-256 of nothing
			hash := [32]byte(mustHex(t, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
			b.Set(tableCodes.key(hash[:]), nil)
			b.Set(tableCodeSizes.key(hash[:]), codeSize{since: 1}.encode())
		}, "but no block deployed it"},
		"code without a size": {func(b *kv.Batch) { b.Delete(tableCodeSizes.key(hash[:])) }, "has no size"},
		"code of a later block": {
			func(b *kv.Batch) {
				b.Set(tableCodeSizes.key(hash[:]), codeSize{7, uint32(len(code.value))}.encode())
			}, "is recorded for block 7, but was first deployed in",
		},
		"a policy that no block revealed": {func(b *kv.Batch) {
			policy := types.Policy{Number: 99}
			hash := policy.Hash()
			b.Set(tablePolicies.key(hash[:]), revealed{5, policy.Encode()}.encode())
		}, "policies: they do not match the policies that the blocks revealed"},
		"a policy of a later block": {func(b *kv.Batch) {
			policy := toyPolicy(0)
			hash := policy.Hash()
			b.Set(tablePolicies.key(hash[:]), revealed{7, policy.Encode()}.encode())
		}, "which is recorded for block 7"},
		"a policy under another hash": {func(b *kv.Batch) {
			hash := toyPolicy(0).Hash()
			b.Set(tablePolicies.key(hash[:]), revealed{1, toyPolicy(1).Encode()}.encode())
		}, "has the policy"},
		"a reason of a transaction that did not fail": {
			func(b *kv.Batch) { b.Set(tableFailures.at(5, 1000), []byte(exec.Trap)) }, "reasons of failure",
		},
		"a holder that no event made": {
			func(b *kv.Batch) {
				of, sum := holding{1}, tokenSum{low: 5}
				b.Set(tableHolders.key(of[:]), sum.appendTo(nil))
				b.Set(appendRank(nil, &of, sum), nil)
			}, "do not match the sum of its Transfer events",
		},
		"a contract listed twice": {
			func(b *kv.Batch) { b.Set(tableDeploys.at(1, 1000), make([]byte, 32)) }, "is not a contract",
		},
		"an event's row too many": {
			func(b *kv.Batch) { b.Set(appendEventRow(nil, eventOfID, &[32]byte{1}, 5), eventPlace{}.appendTo(nil)) },
			"block 5: a row too many in the table of events",
		},
		"coins from nowhere": {
			func(b *kv.Batch) {
				b.Set(tableState.key(state.AccountKey(account)), state.Account{Balance: 1 << 40}.Encode(account))
			},
			"are not the supply of",
		},
		"coins beyond 64 bits": {
			func(b *kv.Batch) {
				b.Set(tableState.key(state.AccountKey(account)), state.Account{Balance: 1<<64 - 1}.Encode(account))
			}, types.ErrOverflow.Error(),
		},
		"a state key without a leaf": {func(b *kv.Batch) { b.Delete(tableLeaves.key(accountPath[:])) }, "has no leaf"},
		"a leaf without a value": {
			func(b *kv.Batch) { b.Delete(tableState.key(state.AccountKey(account))) }, "which has no value",
		},
		"a state key of an unknown domain": {
			func(b *kv.Batch) { b.Set(tableState.key(bytes.Repeat([]byte{9}, 33)), []byte{1}) }, "unknown domain 9",
		},
		"an empty value": {
			func(b *kv.Batch) { b.Set(tableState.key(state.StorageKey(types.ContractID{}, nil)), nil) }, "empty",
		},
		"another root": {func(b *kv.Batch) {
			b.Set(tableState.key(state.StorageKey(types.ContractID{}, nil)), []byte{1})
			leaf := newLeaves(tree.Paths([][]byte{state.StorageKey(types.ContractID{}, nil)}), [][]byte{{1}})[0]
			leaf.key = state.StorageKey(types.ContractID{}, nil)
			path := tree.Path(leaf.key).Bytes()
			b.Set(tableLeaves.key(path[:]), leaf.encode())
		}, "its tree has the root"},
	} {
		t.Run(name, func(t *testing.T) {
			before := rowsOf(t, s.db, nil, nil)
			requireProblem(t, name, change(t, s, c.write), c.says)
			report := change(t, s, func(b *kv.Batch) {
				b.DeleteRange([]byte{0}, []byte{0xff})
				for _, row := range before {
					b.Set(row.key, row.value)
				}
			})
			if !report.OK() {
				t.Fatalf("restored: %q", report.Problems)
			}
		})
	}
}

func mustHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := types.ParseBytes32[types.Digest](s)
	must(t, err)
	return b[:]
}

// firstCode is a code row of the store and its hash.
func firstCode(t *testing.T, c *toyChain) (types.CodeHash, row) {
	t.Helper()
	for _, b := range c.blocks {
		for hash, code := range b.Codes {
			if b.Header.Height != 7 {
				return hash, row{tableCodes.key(hash[:]), code}
			}
		}
	}
	t.Fatal("the toy chain has no code")
	return types.CodeHash{}, row{}
}

func TestCheckReport(t *testing.T) {
	s, c := checkedStore(t, 0)
	var done, total uint64
	report, err := Check(context.Background(), s, func(d, n uint64) {
		if d <= done && done > 0 {
			t.Errorf("progress from %d to %d", done, d)
		}
		done, total = d, n
	})
	must(t, err)
	want := Report{Head: 8, Blocks: 9, StateKeys: uint64(len(c.head().state))}
	codes := make(map[types.CodeHash]bool)
	for _, b := range c.blocks {
		want.Transactions += uint64(len(b.Transactions))
		want.Accesses += uint64(len(b.Accesses))
		for hash := range b.Codes {
			codes[hash] = true
		}
	}
	want.Codes = uint64(len(codes))
	if fmt.Sprint(report) != fmt.Sprint(want) {
		t.Errorf("report %+v, want %+v", report, want)
	}
	if done != total || total != want.Blocks+want.StateKeys {
		t.Errorf("progress ended at %d of %d", done, total)
	}
}

func TestCheckBoundsProblems(t *testing.T) {
	s, _ := checkedStore(t, 0)
	report := change(t, s, func(b *kv.Batch) {
		for i := range 2 * MaxProblems {
			b.Set(fmt.Appendf(nil, "~~%d", i), nil)
		}
	})
	if len(report.Problems) != MaxProblems || report.Found != 2*MaxProblems || report.OK() {
		t.Errorf("%d problems named of %d", len(report.Problems), report.Found)
	}
}

func TestCheckStopsWithTheContext(t *testing.T) {
	s, _ := checkedStore(t, 0)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Check(ctx, s, func(done, total uint64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
