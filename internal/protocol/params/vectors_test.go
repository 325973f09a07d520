package params_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// vectors are the parts of docs/vectors.json that this package defines.
type vectors struct {
	GasSchedule struct{ Text, Digest string } `json:"gas_schedule"`
	Parameters  []struct {
		Name       string
		Parameters types.Parameters
		Encoded    string
	}
	Changes []struct {
		Name         string
		Present, New types.Parameters
		Timestamp    uint64
		Valid        bool
		Encoded      string
	} `json:"changes_of_parameters"`
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	file, err := os.ReadFile("../../../docs/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParameterVectors(t *testing.T) {
	v := readVectors(t)
	if len(v.Parameters) == 0 || len(v.Changes) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range v.Parameters {
		if got := hex.EncodeToString(c.Parameters.Encode()); got != c.Encoded {
			t.Errorf("%s: got %s, want %s", c.Name, got, c.Encoded)
		}
		if err := params.Check(c.Parameters); err != nil {
			t.Errorf("%s: error %v", c.Name, err)
		}
	}
	for _, c := range v.Changes {
		if err := params.CheckChange(c.Present, c.New, c.Timestamp); (err == nil) != c.Valid {
			t.Errorf("%s: got %v, want valid %v", c.Name, err, c.Valid)
		}
		if got := hex.EncodeToString(c.New.Encode()); got != c.Encoded {
			t.Errorf("%s: got %s, want %s", c.Name, got, c.Encoded)
		}
	}
}

func TestScheduleVector(t *testing.T) {
	v := readVectors(t).GasSchedule
	if got := params.Prices.Text(); got != v.Text {
		t.Errorf("text is\n%swant\n%s", got, v.Text)
	}
	digest := params.Prices.Digest()
	if got := hex.EncodeToString(digest[:]); got != v.Digest {
		t.Errorf("digest is %s, want %s", got, v.Digest)
	}
}
