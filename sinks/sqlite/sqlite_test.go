package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sinktest"
)

func openAt(t testing.TB, path, distance string) *Sink {
	t.Helper()
	s, err := Open(Config{Path: path, Distance: distance}, connector.Env{Name: "test", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	for _, distance := range []string{"cosine", "dot", "l2"} {
		t.Run(distance, func(t *testing.T) {
			var path string
			sinktest.Run(t, func(t *testing.T) connector.Sink {
				path = filepath.Join(t.TempDir(), "a b?#%41 库.db")
				return openAt(t, path, distance)
			}, sinktest.Options{Distance: distance, Reopen: func(t *testing.T) connector.Sink { return openAt(t, path, distance) }})
		})
	}
}
