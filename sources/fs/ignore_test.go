package fs

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "record again, with git, what it lists")

// TestIgnore lists trees as git does. Each case holds the ignore files, the names of the other files under "tree", and under
// "git" what `git ls-files --others --exclude-standard` prints there.
func TestIgnore(t *testing.T) {
	cases, err := filepath.Glob("testdata/ignore/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			must(t, err)
			root := t.TempDir()
			var want []string
			for _, f := range a.Files {
				switch f.Name {
				case "tree":
					for _, p := range strings.Fields(string(f.Data)) {
						mkdir(t, filepath.Join(root, filepath.Dir(p)))
						write(t, filepath.Join(root, p), "")
					}
				case "git":
					want = strings.Fields(string(f.Data))
				default:
					mkdir(t, filepath.Join(root, filepath.Dir(f.Name)))
					// "\s" stands for a space at the end of a line, "\r" for a carriage return.
					data := strings.NewReplacer("<SP>", " ", "<CR>", "\r").Replace(string(f.Data))
					write(t, filepath.Join(root, f.Name), data)
				}
			}
			if *update {
				want = gitList(t, root)
				record(t, file, a, want)
			}
			expect(t, listing(t, Config{Root: root, Hidden: true}), want...)
		})
	}
}

func gitList(t *testing.T, root string) []string {
	git := func(args ...string) []byte {
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "core.excludesFile=", "-c", "core.quotePath=false"}, args...)...)
		out, err := cmd.Output()
		must(t, err)
		return out
	}
	git("init", "-q")
	list := strings.Split(strings.TrimSuffix(string(git("ls-files", "--others", "--exclude-standard", "-z")), "\x00"), "\x00")
	must(t, os.RemoveAll(filepath.Join(root, ".git")))
	slices.SortFunc(list, func(a, b string) int {
		return bytes.Compare([]byte(strings.ReplaceAll(a, "/", "\x01")), []byte(strings.ReplaceAll(b, "/", "\x01")))
	})
	return list
}

func record(t *testing.T, file string, a *txtar.Archive, want []string) {
	a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "git" })
	a.Files = append(a.Files, txtar.File{Name: "git", Data: []byte(strings.Join(want, "\n") + "\n")})
	must(t, os.WriteFile(file, txtar.Format(a), 0o644))
}

// TestIgnoreFileOrder: of two ignore files in a folder, the later in the configuration has the last word, and a deeper
// folder's file has it over both.
func TestIgnoreFileOrder(t *testing.T) {
	root := tree(t, "a.log", "b.log", "keep/a.log")
	write(t, filepath.Join(root, ".gitignore"), "*.log\n")
	write(t, filepath.Join(root, ".kbsyncignore"), "!b.log\n")
	write(t, filepath.Join(root, "keep", ".kbsyncignore"), "!*.log\n")
	expect(t, listing(t, Config{Root: root}), "b.log", "keep/a.log")
	expect(t, listing(t, Config{Root: root, IgnoreFiles: []string{}}), "a.log", "b.log", "keep/a.log")
}

// FuzzIgnore: no pattern panics or takes more than polynomial time.
func FuzzIgnore(f *testing.F) {
	f.Add("*.log\n!a/**/b\n/x/\n[a-z]\\ \n", "a/b/c.log")
	f.Add("a*a*a*a*a*a*a*a*b\n**/**/**/**/x", strings.Repeat("a", 200))
	f.Fuzz(func(_ *testing.T, file, path string) {
		if len(file) > 2000 || len(path) > 500 {
			return
		}
		ig := &ignores{patterns: parseIgnore([]byte(file))}
		ig.ignored(path, false)
		ig.ignored(path, true)
	})
}
