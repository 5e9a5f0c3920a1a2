package acceptance

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

const module = "github.com/kbsync/kbsync"

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

func goList(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Imports,Deps"}, args...)...)
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var pkgs []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// rooms says, by folder, which of the project's own folders a package there may import. A plugin may import
// nothing of another plugin. What is not named here may not exist: a new folder is a decision.
var rooms = map[string][]string{
	"connector":            {},
	"connector/config":     {"connector"},
	"connector/ledger":     {"connector"},
	"connector/pipeline":   {"connector", "connector/config", "connector/ledger", "connector/vectorstore", "internal"},
	"connector/service":    {"connector", "connector/config", "connector/ledger", "connector/pipeline"},
	"connector/sinktest":   {"connector", "internal"},
	"connector/sourcetest": {"connector"},
	"connector/parsertest": {"connector"},
	"connector/embedtest":  {"connector"},
	"connector/llmtest":    {"connector"},

	"connector/vectorstore":  {"connector"},
	"connector/strategytest": {"connector", "internal"},
	"connector/embedserver":  {"connector", "internal"},

	"sources":    {"connector", "internal"},
	"parsers":    {"connector", "internal"},
	"strategies": {"connector", "internal"},
	"embedders":  {"connector", "internal"},

	"embedders/local/e5small": {}, // 60 MB that the program alone carries
	"sinks":                   {"connector", "internal"},
	"llms":                    {"connector", "internal"},
	"internal":                {"connector", "internal"},
	"plugins":                 {"connector", "sources", "parsers", "strategies", "embedders", "sinks", "llms"},
	"cmd":                     {"connector", "connector/config", "connector/ledger", "connector/pipeline", "connector/service", "connector/embedserver", "connector/vectorstore", "plugins", "internal", "parsers/code", "sources/fs", "embedders/local/e5small"},
	"acceptance":              {},
	"docs":                    {},
}

// room is the longest folder of the map that holds a package.
func room(rel string) (string, bool) {
	for dir := rel; dir != "."; dir = filepath.Dir(dir) {
		if _, ok := rooms[dir]; ok {
			return dir, true
		}
	}
	return "", false
}

// TestImportsFlowOneWay keeps the layers apart: cmd → pipeline → connector ← plugins.
func TestImportsFlowOneWay(t *testing.T) {
	for _, p := range goList(t, "./...") {
		rel := strings.TrimPrefix(p.ImportPath, module+"/")
		home, ok := room(rel)
		if !ok {
			t.Errorf("%s lies in no known folder: add it to the rooms, with a reason in the commit", rel)
			continue
		}
		for _, imp := range p.Imports {
			to, own := strings.CutPrefix(imp, module+"/")
			switch {
			case home == "connector" && strings.Contains(imp, "."):
				t.Errorf("%s imports %s: the contract imports the standard library alone", rel, imp)
			case !own:
			case strings.HasPrefix(to, home+"/") && (home == "internal" || home == "strategies"):
			case !slices.ContainsFunc(rooms[home], func(allowed string) bool {
				return to == allowed || allowed != "connector" && strings.HasPrefix(to, allowed+"/")
			}):
				t.Errorf("%s imports %s: %s may import %v alone", rel, to, home, rooms[home])
			}
		}
	}
}

// TestOnlyTheCodeParserNeedsC: everything else builds without a C compiler.
func TestOnlyTheCodeParserNeedsC(t *testing.T) {
	for _, p := range goList(t, "./...") {
		rel := strings.TrimPrefix(p.ImportPath, module+"/")
		if rel != "parsers/code" && slices.ContainsFunc(p.Imports, func(imp string) bool { return imp == "C" || strings.Contains(imp, "tree-sitter") }) {
			t.Errorf("%s needs C", rel)
		}
	}
}

// TestDependencies compares the modules that the program links with the golden list: a new one is a decision, to be justified in its
// commit. -update rewrites the list.
func TestDependencies(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/kbsync")
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	got := strings.TrimSpace(strings.Join(slices.Compact(lines), "\n")) + "\n"
	golden := filepath.Join("testdata", "dependencies.txt")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the program's dependencies changed (run with -update if that is meant):\n%s", got)
	}
}
