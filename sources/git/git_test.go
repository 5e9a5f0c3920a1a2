package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sourcetest"
)

// fixture writes a repository that the source reaches through url.
func fixture(tb testing.TB, url func(tb testing.TB, root string) (url string, edit func(*Config))) sourcetest.Fixture {
	root := tb.TempDir()
	r := newRepo(tb, filepath.Join(root, "repo.git"))
	at, edit := url(tb, root)
	return sourcetest.Fixture{
		Open: func(tb testing.TB) connector.Source {
			c := defaults()
			c.URL = at
			edit(&c)
			s, err := Open(c, "", filepath.Join(root, "cache"))
			if err != nil {
				tb.Fatal(err)
			}
			return s
		},
		Put: func(tb testing.TB, p string, data []byte) {
			r.put(tb, p, data)
			r.commit(tb, "main")
		},
		Delete: func(tb testing.TB, p string) {
			delete(r.files, p)
			r.commit(tb, "main")
		},
		Rename: func(tb testing.TB, from, to string) {
			r.files[to] = r.files[from]
			delete(r.files, from)
			r.commit(tb, "main")
		},
		Spoil: func(tb testing.TB, p string) {
			e := r.files[p]
			e.name = []byte(filepath.Base(p))
			r.raw[filepath.Dir(p)] = append(r.raw[filepath.Dir(p)], e) // the name twice
			r.commit(tb, "main")
		},
		Break: func(tb testing.TB) {
			if err := os.Rename(r.dir, r.dir+".away"); err != nil {
				tb.Fatal(err)
			}
		},
		Extra: []string{"tab\tname.md", `back\slash.md`, "line\nbreak.md", ".hidden/x.md"},
	}
}

func TestConformanceFolder(t *testing.T) {
	sourcetest.Run(t, func(tb testing.TB) sourcetest.Fixture {
		return fixture(tb, func(_ testing.TB, root string) (string, func(*Config)) {
			return filepath.Join(root, "repo.git"), func(*Config) {}
		})
	})
}

func TestConformanceHTTP(t *testing.T) {
	sourcetest.Run(t, func(tb testing.TB) sourcetest.Fixture {
		return fixture(tb, func(tb testing.TB, root string) (string, func(*Config)) {
			return serveHTTP(tb, root).URL + "/repo.git", func(*Config) {}
		})
	})
}

func TestConformanceHTTPWhole(t *testing.T) {
	sourcetest.Run(t, func(tb testing.TB) sourcetest.Fixture {
		return fixture(tb, func(tb testing.TB, root string) (string, func(*Config)) {
			return serveHTTP(tb, root).URL + "/repo.git", func(c *Config) { c.Depth = 0 }
		})
	})
}
