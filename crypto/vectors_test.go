package crypto

import (
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// unhex decodes a hex string of the tests' own or of a vector.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unhex32(t testing.TB, s string) [32]byte { return [32]byte(unhex(t, s)) }

// readVectors decodes testdata/name.
func readVectors[T any](t testing.TB, name string) (vectors T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return vectors
}

type bip340Vector struct {
	index   string
	secret  []byte // empty if the vector is of verification only
	public  [32]byte
	aux     []byte
	message []byte
	sig     [64]byte
	valid   bool
	comment string
}

func bip340Vectors(t testing.TB) []bip340Vector {
	t.Helper()
	file, err := os.Open("testdata/bip340.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var vectors []bip340Vector
	for _, row := range rows[1:] {
		vectors = append(vectors, bip340Vector{
			index:   row[0],
			secret:  unhex(t, row[1]),
			public:  unhex32(t, row[2]),
			aux:     unhex(t, row[3]),
			message: unhex(t, row[4]),
			sig:     [64]byte(unhex(t, row[5])),
			valid:   row[6] == "TRUE",
			comment: row[7],
		})
	}
	if len(vectors) != 19 {
		t.Fatalf("%d vectors, not 19", len(vectors))
	}
	return vectors
}
