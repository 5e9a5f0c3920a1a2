// Package servers starts real databases and object stores for tests, by scripts/servers.sh. A server that is not installed skips the test, or
// fails it where KBSYNC_REQUIRE_SERVERS names it (a list with commas, or "all"): what must run may not skip in silence. Where
// that list is given, the servers that it does not name are left alone, whatever else is installed on the machine.
package servers

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/internal/shareddata"
)

// Server is a running database. It is stopped, and its data removed, when the test ends.
type Server struct {
	Name string
	// Addr and Addr2 are host:port; which is which stands in scripts/servers.sh.
	Addr, Addr2 string

	tb   testing.TB
	dir  string
	env  []string
	pid  int
	gone bool // what the signals have ended
}

// Start runs a fresh server on free ports of loopback. Env are further variables for the script, as KEY=value.
func Start(tb testing.TB, name string, env ...string) *Server {
	tb.Helper()
	if !Installed(tb, name) {
		tb.Skipf("%s is not installed (scripts/servers.sh install %s), or not among KBSYNC_REQUIRE_SERVERS", name, name)
	}
	if name == "qdrant-double" {
		env = append(env, "KBSYNC_SHARED="+filepath.Dir(shareddata.Dir(tb)))
	}
	dir, err := os.MkdirTemp("", "kbsync-"+name+"-")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{Name: name, Addr: free(tb), Addr2: free(tb), tb: tb, dir: dir, env: env, gone: true}
	tb.Cleanup(func() {
		s.Kill()
		if tb.Failed() {
			if log, err := os.ReadFile(filepath.Join(dir, "data.log")); err == nil {
				tb.Logf("the last lines of %s:\n%s", name, log[max(0, len(log)-1500):])
			}
		}
		_ = os.RemoveAll(dir)
	})
	for try := 0; ; try++ {
		if err = s.run(); err == nil {
			return s
		}
		if try == 2 {
			tb.Fatalf("start %s: %v", name, err)
		}
		// Somebody else may have taken a port since it was free.
		s.Addr, s.Addr2 = free(tb), free(tb)
		_ = os.RemoveAll(s.Dir())
	}
}

// Installed says whether a server can be started; it fails the test if the server is required and is not there.
func Installed(tb testing.TB, name string) bool {
	tb.Helper()
	ok := installed(name)
	required := os.Getenv("KBSYNC_REQUIRE_SERVERS")
	named := required == "all" || slices.Contains(strings.Split(required, ","), name)
	if !ok && named {
		tb.Fatalf("%s is not installed: run scripts/servers.sh install %s", name, name)
	}
	return ok && (named || required == "")
}

// Restart starts the server on the same data and ports, after Kill or Stop.
func (s *Server) Restart() {
	s.tb.Helper()
	if err := s.run(); err != nil {
		s.tb.Fatalf("start %s: %v", s.Name, err)
	}
}

func (s *Server) run() error {
	cmd := exec.CommandContext(context.Background(), filepath.Join(root(s.tb), "scripts", "servers.sh"), "start", s.Name, filepath.Join(s.dir, "data"), port(s.Addr), port(s.Addr2))
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Stderr = os.Stderr
	// The script's output is a file: a pipe would stay open as long as the server.
	out, err := os.Create(filepath.Join(s.dir, "pid"))
	if err == nil {
		cmd.Stdout = out
		err = errors.Join(cmd.Run(), out.Close())
	}
	raw, rerr := os.ReadFile(filepath.Join(s.dir, "pid"))
	if err = errors.Join(err, rerr); err == nil {
		s.pid, err = strconv.Atoi(strings.TrimSpace(string(raw)))
	}
	if err == nil {
		s.gone = false
	}
	return err
}

// Dir is the folder that holds the server's data.
func (s *Server) Dir() string { return filepath.Join(s.dir, "data") }

// answers says whether somebody listens: the threads of a process end after its first one, and the children of a database
// after their parent.
func (s *Server) answers() bool {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second) //nolint:noctx // a test of loopback
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

func free(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's free port
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func port(addr string) string {
	_, p, _ := strings.Cut(addr, ":")
	return p
}

// folder is where servers are installed.
func folder() string {
	if dir := os.Getenv("KBSYNC_SERVERS"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "kbsync-servers")
}

// Python is the interpreter of an installed Python package: a server, or a library that reads databases.
func Python(name string) string { return filepath.Join(folder(), "venv-"+name, "bin", "python") }

func installed(name string) bool {
	probe := filepath.Join("venv-"+name, "bin", "python")
	switch name {
	case "weaviate":
		probe = filepath.Join("bin", "weaviate-server")
	case "versitygw":
		probe = filepath.Join("bin", "versitygw")
	case "fake-gcs":
		probe = filepath.Join("bin", "fake-gcs-server")
	case "azurite":
		probe = filepath.Join("azurite", "node_modules", "azurite", "dist", "src", "blob", "main.js")
	case "mariadb":
		_, err := exec.LookPath("mariadbd")
		return err == nil
	case "opensearch":
		probe = filepath.Join("opensearch", "plugins", "opensearch-knn")
	}
	if _, ok := shareddata.Find(); name == "qdrant-double" && !ok {
		return false // its program lies beside the data
	}
	_, err := os.Stat(filepath.Join(folder(), probe))
	return err == nil
}

// root is the folder of go.mod, above the test's working directory.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	tb.Fatal("no go.mod above the working directory")
	return ""
}
