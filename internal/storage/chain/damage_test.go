package chain

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// The search for the first and last rows of a table ends even if rows that it has found are dropped meanwhile.
func TestSearchEnds(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		from, head types.Height
		rows       map[types.Height]int // by block: how often its row is still found
		broken     types.Height
		want       ProofRange
		err        error
	}{
		"all there":         {1, 9, map[types.Height]int{1: 9, 9: 9}, 0, ProofRange{1, 9}, nil},
		"the middle":        {0, 9, map[types.Height]int{3: 9, 5: 9}, 0, ProofRange{3, 5}, nil},
		"one":               {0, 9, map[types.Height]int{4: 9}, 0, ProofRange{4, 4}, nil},
		"one that goes":     {0, 9, map[types.Height]int{4: 1}, 0, ProofRange{4, 4}, nil},
		"the first of all":  {0, 9, map[types.Height]int{0: 1}, 0, ProofRange{0, 0}, nil},
		"none":              {1, 9, nil, 0, ProofRange{Oldest: 10}, ErrNotFound},
		"none above a head": {10, 9, nil, 0, ProofRange{Oldest: 10}, ErrNotFound},
		"an error":          {1, 9, map[types.Height]int{1: 9}, 7, ProofRange{1, 7}, broken},
		"an error first":    {1, 9, nil, 2, ProofRange{Oldest: 3}, broken},
	} {
		asked := 0
		got, err := search(c.from, c.head, func(h types.Height) (bool, error) {
			if asked++; asked > 100 {
				return false, errors.New("it does not end")
			}
			if c.broken != 0 && h == c.broken {
				return false, broken
			}
			if c.rows[h] == 0 {
				return false, nil
			}
			c.rows[h]--
			return true, nil
		})
		if !errors.Is(err, c.err) || errors.Is(err, ErrNotFound) != (c.err == ErrNotFound) || got != c.want {
			t.Errorf("%s: %v, %v; want %v, %v", name, got, err, c.want, c.err)
		}
	}
}
