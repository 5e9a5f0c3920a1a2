package acceptance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector/pipeline"
)

// members are the files of an archive, by path.
type members map[string]string

// zipped packs files in the order of their names.
func zipped(tb testing.TB, files members) string {
	tb.Helper()
	var list [][2]string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list = append(list, [2]string{name, files[name]})
	}
	return zipOf(tb, list)
}

// containerRigs runs a test on a source whose listing is in tree order, and on one that promises no order.
func containerRigs(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	for _, unordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("unordered=%v", unordered), func(t *testing.T) {
			t.Parallel()
			r := faultyRig(t, fmt.Sprintf("unordered: %v", unordered))
			test(t, r)
		})
	}
}

// byPath is what the sink holds, by document.
func (r *rig) byPath() map[string]string {
	r.tb.Helper()
	out := map[string]string{}
	for _, rec := range r.export() {
		out[rec.Path] += rec.Content + "\n"
	}
	return out
}

func (r *rig) holds(when string, want ...string) map[string]string {
	r.tb.Helper()
	got := r.byPath()
	paths := make([]string, 0, len(got))
	for p := range got {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	slices.Sort(want)
	if !slices.Equal(paths, want) {
		r.tb.Fatalf("%s: the sink holds %q, want %q", when, paths, want)
	}
	return got
}

// still fails unless a sync with nothing changed opens nothing and writes nothing.
func (r *rig) still(when string, documents int) {
	r.tb.Helper()
	embeds := r.embeds.Load()
	res := r.sync()
	if res.BytesRead != 0 || res.Documents.Unchanged != documents || res.Documents.Added+res.Documents.Updated+res.Documents.Deleted != 0 || r.embeds.Load() != embeds {
		r.tb.Fatalf("%s, a sync with nothing changed: %+v", when, res)
	}
}

// What an archive holds are documents of their own, kept in step one by one.
func TestArchiveIsInStep(t *testing.T) {
	containerRigs(t, func(t *testing.T, r *rig) {
		inner := members{"c.md": "# Inner\n\nThe inner archive speaks of plums.\n", "深.txt": "里面的文件说的是李子。\n"}
		files := members{"a.md": "# A\n\nThe first speaks of apples.\n", "dir/b.txt": "The second speaks of pears.\n", "inner.zip": zipped(t, inner), "photo.png": "\x89PNG\r\n\x1a\n0000"}
		r.write("books/all.zip", zipped(t, files))
		r.write("books/all.zip.txt", "A file whose name sorts behind the archive's.\n")
		r.write("books/all-other.md", "# Other\n\nA file whose name sorts before it.\n")
		r.settle()
		outside := []string{"books/all.zip.txt", "books/all-other.md"}
		all := append([]string{"books/all.zip/a.md", "books/all.zip/dir/b.txt", "books/all.zip/inner.zip/c.md", "books/all.zip/inner.zip/深.txt"}, outside...)
		if plan := r.planned(); len(plan.Steps) != 9 {
			t.Errorf("planned: %+v", plan.Steps)
		}
		if res := r.sync(); res.Documents.Added != 8 || res.Documents.Skipped != 1 {
			t.Fatalf("at first: %+v", res.Documents)
		}
		r.holds("at first", all...)
		r.still("at first", 8)

		files["a.md"] = "# A\n\nThe first speaks of cherries.\n"
		r.write("books/all.zip", zipped(t, files))
		r.settle()
		embeds := r.embeds.Load()
		if res := r.sync(); res.Documents.Updated != 1 || res.Documents.Unchanged != 7 || r.embeds.Load()-embeds != 1 {
			t.Fatalf("a member was edited: %+v", res.Documents)
		}
		if got := r.holds("a member was edited", all...); !strings.Contains(got["books/all.zip/a.md"], "cherries") {
			t.Fatalf("a member was edited: %q", got)
		}
		r.still("after an edit", 8)

		inner["c.md"] = "# Inner\n\nThe inner archive speaks of grapes.\n"
		delete(inner, "深.txt")
		files["inner.zip"] = zipped(t, inner)
		files["moved/b.txt"] = files["dir/b.txt"]
		delete(files, "dir/b.txt")
		r.write("books/all.zip", zipped(t, files))
		r.settle()
		if res := r.sync(); res.Documents.Moved != 1 || res.Documents.Deleted != 1 {
			t.Fatalf("a member was moved, one deleted: %+v", res.Documents)
		}
		got := r.holds("moved and deleted", append([]string{"books/all.zip/a.md", "books/all.zip/moved/b.txt", "books/all.zip/inner.zip/c.md"}, outside...)...)
		if !strings.Contains(got["books/all.zip/inner.zip/c.md"], "grapes") {
			t.Fatalf("an inner member was edited: %q", got)
		}
		r.still("after moving and deleting", 7)
		r.exact()

		r.loseLedger()
		embeds = r.embeds.Load()
		r.sync()
		if r.embeds.Load() != embeds {
			t.Errorf("after the ledger was lost %d texts were embedded", r.embeds.Load()-embeds)
		}
		r.exact()

		r.remove("books/all.zip")
		r.sync()
		r.holds("the archive is gone", outside...)
		r.exact()
	})
}

// An archive that cannot be read, or breaks a limit, fails; what it held before stays. A member that cannot be read is alone at fault.
func TestBrokenArchiveLosesNothing(t *testing.T) {
	containerRigs(t, func(t *testing.T, r *rig) {
		files := members{"a.md": "# A\n\nThe first speaks of apples.\n", "b.md": "# B\n\nThe second speaks of pears.\n"}
		whole := zipped(t, files)
		r.write("x.zip", whole)
		r.write("y.md", "# Y\n\nAnother file.\n")
		all := []string{"x.zip/a.md", "x.zip/b.md", "y.md"}
		r.settle()
		r.sync()
		r.holds("at first", all...)

		r.write("x.zip", whole[:len(whole)-30])
		r.settle()
		for range 2 { // it is tried again each time
			res, err := r.trySync(pipeline.SyncOptions{})
			if pipeline.ExitCode(err) != pipeline.ExitFailed || res.Documents.Failed != 1 || len(res.Errors) != 1 || res.Errors[0].Path != "x.zip" {
				t.Fatalf("a cut archive: %v, %+v", err, res)
			}
			r.holds("a cut archive", all...)
		}
		if plan := r.planned(); len(plan.Steps) != 1 || plan.Steps[0].Action != pipeline.ActionFail {
			t.Errorf("planned: %+v", plan.Steps)
		}

		// The bytes of a member are damaged: its checksum tells.
		files["b.md"] = "# B\n\nThe second speaks of plums, at some length, and of nothing else at all.\n"
		whole = zipped(t, files)
		at := strings.LastIndex(whole[:strings.Index(whole, "PK\x01\x02")], "PK\x03\x04") + 45
		r.write("x.zip", whole[:at]+"\x00\xff\x00"+whole[at+3:])
		r.settle()
		res, err := r.trySync(pipeline.SyncOptions{})
		if pipeline.ExitCode(err) != pipeline.ExitFailed || res.Documents.Failed != 1 || res.Errors[0].Path != "x.zip/b.md" {
			t.Fatalf("a damaged member: %v, %+v", err, res)
		}
		if got := r.holds("a damaged member", all...); !strings.Contains(got["x.zip/b.md"], "pears") {
			t.Errorf("the damaged member: %q", got["x.zip/b.md"])
		}

		r.write("x.zip", whole)
		r.settle()
		r.sync()
		if got := r.holds("mended", all...); !strings.Contains(got["x.zip/b.md"], "plums") {
			t.Errorf("mended: %q", got["x.zip/b.md"])
		}
		r.exact()

		yaml := r.yaml
		r.yaml += "\narchives: { max_members: 1 }\n"
		res, err = r.trySync(pipeline.SyncOptions{})
		if pipeline.ExitCode(err) != pipeline.ExitFailed || len(res.Errors) != 1 || !strings.Contains(res.Errors[0].Error, "archives.max_members") {
			t.Fatalf("too many members: %v, %+v", err, res)
		}
		r.holds("too many members", all...)
		r.yaml = yaml
		r.sync()
		r.still("within the limit again", 4)
	})
}

// What is nested too deep is named and not read; a deeper limit reads it.
func TestArchivesNested(t *testing.T) {
	containerRigs(t, func(t *testing.T, r *rig) {
		content := zipped(t, members{"deep.md": "# Deep\n\nFour archives down.\n"})
		for i := 3; i > 0; i-- {
			content = zipped(t, members{fmt.Sprintf("level%d.zip", i): content, fmt.Sprintf("level%d.md", i): fmt.Sprintf("# Level %d\n\nWords.\n", i)})
		}
		r.write("top.zip", content)
		r.settle()
		res := r.sync()
		if res.Documents.Skipped != 1 {
			t.Errorf("%+v", res)
		}
		three := []string{"top.zip/level1.md", "top.zip/level1.zip/level2.md", "top.zip/level1.zip/level2.zip/level3.md"}
		r.holds("three deep", three...)
		if res := r.sync(); res.Documents.Skipped != 1 || res.BytesRead != 0 {
			t.Errorf("what is skipped is named each time: %+v", res)
		}
		r.yaml += "\narchives: { max_depth: 4 }\n"
		r.sync()
		r.holds("four deep", append(three, "top.zip/level1.zip/level2.zip/level3.zip/deep.md")...)
		r.yaml = strings.Replace(r.yaml, "max_depth: 4", "max_depth: 0", 1)
		if _, err := r.trySync(pipeline.SyncOptions{AllowDelete: true}); err != nil {
			t.Fatal(err)
		}
		r.holds("nothing unpacked")
	})
}

// What was forgotten comes back with the next sync, though the archive did not change.
func TestForgottenMemberComesBack(t *testing.T) {
	containerRigs(t, func(t *testing.T, r *rig) {
		r.write("x.zip", zipped(t, members{"a.md": "# A\n\nApples.\n", "b/c.md": "# C\n\nPears.\n"}))
		r.settle()
		r.sync()
		p := r.open()
		_, err := p.Forget(context.Background(), "", "x.zip/b")
		if err := errors.Join(err, p.Close()); err != nil {
			t.Fatal(err)
		}
		r.holds("forgotten", "x.zip/a.md")
		r.sync()
		r.holds("synced again", "x.zip/a.md", "x.zip/b/c.md")
		r.still("synced again", 3)
	})
}

// An archive without an extension is known by its content, and is followed when it changes, or becomes something else.
func TestArchiveWithoutAName(t *testing.T) {
	containerRigs(t, func(t *testing.T, r *rig) {
		r.write("bundle", zipped(t, members{"a.md": "# A\n\nApples.\n"}))
		r.settle()
		r.sync()
		r.holds("at first", "bundle/a.md")
		r.still("at first", 2)
		r.write("bundle", zipped(t, members{"a.md": "# A\n\nPears.\n", "b.md": "# B\n\nPlums.\n"}))
		r.settle()
		r.sync()
		r.holds("edited", "bundle/a.md", "bundle/b.md")
		r.write("bundle", "Now it is a text.\n")
		r.settle()
		r.sync()
		r.holds("a text", "bundle")
		r.write("bundle", zipped(t, members{"a.md": "# A\n\nApples.\n"}))
		r.settle()
		r.sync()
		r.holds("an archive again", "bundle/a.md")
		r.exact()
	})
}

// Whatever is done to archives, and to files beside them, the sink holds what a fresh sync gives.
func TestRandomArchives(t *testing.T) {
	containerRigs(t, func(t *testing.T, r *rig) {
		rng := rand.New(rand.NewPCG(7, 11))
		archives := []members{{}, {}, {}}
		name := func(i int) string { return []string{"a.zip", "d/b.zip", "a.zip-2.zip"}[i] }
		for round := range 12 {
			for range 1 + rng.IntN(4) {
				i := rng.IntN(len(archives))
				m := archives[i]
				file := fmt.Sprintf("%c/f%d.md", 'p'+rune(rng.IntN(3)), rng.IntN(4))
				switch rng.IntN(5) {
				case 0:
					delete(m, file)
				case 1:
					m["in.zip"] = zipped(t, members{file: paragraphs(fmt.Sprint("inner", rng.IntN(3)), 2)})
				default:
					m[file] = fmt.Sprintf("# %s\n\n%s", file, paragraphs(fmt.Sprint("text", rng.IntN(6)), 3))
				}
				if len(m) == 0 && rng.IntN(2) == 0 {
					if err := os.RemoveAll(filepath.Join(r.docs, name(i))); err != nil {
						t.Fatal(err)
					}
					continue
				}
				r.write(name(i), zipped(t, m))
			}
			if _, err := r.trySync(pipeline.SyncOptions{AllowDelete: true, Checksum: round%4 == 3}); err != nil {
				t.Fatal(err)
			}
		}
		r.exact()
	})
}

// A run that is killed while it brings an archive up to date is mended by the next one, wherever it was.
func TestArchiveKilledAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("runs many child processes")
	}
	t.Parallel()
	r := newRig(t, "", "sink: { sqlite: { path: kb.db } }\n")
	version := func(n int) {
		files := members{}
		for i := range 6 {
			if i != n%6 { // one is missing each time, one is new, two differ
				files[fmt.Sprintf("f%d.md", i)] = fmt.Sprintf("# F%d\n\n%s", i, paragraphs(fmt.Sprint("text", i, max(0, n-i)%2), 4))
			}
		}
		files["in.zip"] = zipped(t, members{"g.md": paragraphs(fmt.Sprint("inner", n%3), 3)})
		r.write("x.zip", zipped(t, files))
	}
	version(0)
	calls, err := r.child(0, 0)
	if err != nil || calls < 10 {
		t.Fatalf("%d calls: %v", calls, err)
	}
	for n := 1; n <= 12; n++ {
		version(n)
		if _, err := r.child(1+n*calls/13, 0); err == nil && n < 6 {
			t.Errorf("run %d was not killed", n)
		}
		if n%3 > 0 { // two killed runs in a row are no worse
			r.sync()
			r.exact()
		}
	}
	r.sync()
	r.exact()
}
