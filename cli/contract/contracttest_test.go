package contract

import (
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/cli/tracing"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/kit/contractbuild"
)

// TestCoverageOfLines counts a line that belongs to two blocks once, and as covered if one of them ran.
func TestCoverageOfLines(t *testing.T) {
	at := func(file string, line int) contractbuild.Position {
		return contractbuild.Position{File: file, Line: line}
	}
	functions := []coveredFunction{
		{"add", at("src/lib.rs", 3), []coveredBlock{
			{[]contractbuild.Position{at("src/lib.rs", 3), at("src/lib.rs", 4)}, true},
			{[]contractbuild.Position{at("src/lib.rs", 4), at("src/more.rs", 9)}, false},
		}, true},
		{"never", at("src/more.rs", 11), []coveredBlock{{[]contractbuild.Position{at("src/more.rs", 11)}, false}}, false},
	}
	sum, lines := summed(functions)
	if sum.Functions != (ran{1, 2}) || sum.Blocks != (ran{1, 3}) || sum.Lines != (ran{2, 4}) ||
		!slices.Equal(sum.Missed, []string{"src/more.rs: 9, 11"}) {
		t.Errorf("got %+v", sum)
	}
	want := `TN:
SF:src/lib.rs
FN:3,add
FNDA:1,add
BRDA:3,0,0,1
BRDA:4,0,1,0
DA:3,1
DA:4,1
end_of_record
TN:
SF:src/more.rs
FN:11,never
FNDA:0,never
BRDA:11,1,0,0
DA:9,0
DA:11,0
end_of_record
`
	if got := string(lcov(functions, lines)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := spans([]int{1, 3, 4, 5, 9, 10}); got != "1, 3–5, 9–10" {
		t.Errorf("%s, want 1, 3–5, 9–10", got)
	}
}

func TestDeclaresInvariants(t *testing.T) {
	source := contractsource.Source{
		Manifest: contractsource.Manifest{Language: contractsource.Rust, Package: "bank"},
		Files: map[string][]byte{
			"bank/src/lib.rs":  []byte("contract! { invariants { fn solvent() {} } }"),
			"cairn/src/lib.rs": []byte("nothing"),
		},
	}
	if !declaresInvariants(source) {
		t.Error("the package has invariants")
	}
	source.Files["bank/src/lib.rs"], source.Files["cairn/src/lib.rs"] = nil, source.Files["bank/src/lib.rs"]
	if declaresInvariants(source) {
		t.Error("only what it depends on has some")
	}
	source = contractsource.Source{
		Manifest: contractsource.Manifest{Language: contractsource.AssemblyScript},
		Files:    map[string][]byte{"assembly/index.ts": []byte("@invariant\nexport function solvent(): void {}")},
	}
	if !declaresInvariants(source) {
		t.Error("the script has invariants")
	}
}

func TestStoppedText(t *testing.T) {
	got := stoppedText([]tracing.StoppedAt{
		{File: "src/lib.rs", Line: 2, Text: "let less = count / by;"}, {File: "src/lib.rs", Line: 9, Near: true, Text: "half()"},
	})
	if want := "\n  src/lib.rs:2  let less = count / by;\n  near src/lib.rs:9  half()"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
