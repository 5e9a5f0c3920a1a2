package git

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/sourcetest"
)

// sshServer runs git's own upload-pack for whoever has the key.
type sshServer struct {
	addr, keyFile, knownHosts string
	conns                     sync.WaitGroup
}

func newKey(tb testing.TB, passphrase string) (ssh.Signer, []byte) {
	tb.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		tb.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

func serveSSH(tb testing.TB, dir string) *sshServer {
	tb.Helper()
	host, _ := newKey(tb, "")
	user, file := newKey(tb, "")
	config := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() == "git" && string(key.Marshal()) == string(user.PublicKey().Marshal()) {
			return nil, nil
		}
		return nil, errors.New("not you")
	}}
	config.AddHostKey(host)
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &sshServer{addr: l.Addr().String(), keyFile: filepath.Join(dir, "key"), knownHosts: filepath.Join(dir, "known_hosts")}
	line := knownhosts.Line([]string{knownhosts.Normalize(s.addr)}, host.PublicKey())
	if err := errors.Join(os.WriteFile(s.keyFile, file, 0o600), os.WriteFile(s.knownHosts, []byte(line+"\n"), 0o600)); err != nil {
		tb.Fatal(err)
	}
	s.conns.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Go(func() { serveConn(conn, config) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		s.conns.Wait()
	})
	return s
}

func serveConn(raw net.Conn, config *ssh.ServerConfig) {
	defer func() { _ = raw.Close() }()
	conn, channels, requests, err := ssh.NewServerConn(raw, config)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { ssh.DiscardRequests(requests) })
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		all.Go(func() {
			for r := range requests {
				if r.Type != "exec" {
					_ = r.Reply(false, nil)
					continue
				}
				_ = r.Reply(true, nil)
				var command struct{ Line string }
				_ = ssh.Unmarshal(r.Payload, &command)
				all.Go(func() {
					defer func() { _ = channel.Close() }()
					runCommand(channel, command.Line)
				})
			}
		})
	}
}

// runCommand is what sshd does: it gives the line to a shell.
func runCommand(channel ssh.Channel, line string) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	var copied sync.WaitGroup
	copied.Go(func() {
		_, _ = io.Copy(in, channel)
		_ = in.Close()
	})
	status := byte(0)
	if cmd.Wait() != nil {
		status = 1
	}
	_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, status})
	_ = channel.Close()
	copied.Wait()
}

func (s *sshServer) edit(c *Config) {
	c.SSHKey, c.KnownHosts = s.keyFile, s.knownHosts
}

func TestConformanceSSH(t *testing.T) {
	sourcetest.Run(t, func(tb testing.TB) sourcetest.Fixture {
		return fixture(tb, func(tb testing.TB, root string) (string, func(*Config)) {
			s := serveSSH(tb, root)
			return "ssh://git@" + s.addr + root + "/repo.git", s.edit
		})
	})
}

// TestSSHFetches: new commits over ssh bring what is new, and a name with a quote in it is a name.
func TestSSHFetches(t *testing.T) {
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "it's a repo.git"))
	s := serveSSH(t, root)
	source := open(t, "ssh://git@"+s.addr+root+"/it's%20a%20repo.git", filepath.Join(root, "cache"), s.edit)
	for _, text := range []string{"one", "two", "three"} {
		r.put(t, text+".md", []byte(text))
		r.commit(t, "main")
		wantRead(t, list(t.Context(), source).doc(t, text+".md"), text)
	}
}

// TestSSHRefusals: host keys are checked, and each refusal says what to set.
func TestSSHRefusals(t *testing.T) {
	root := t.TempDir()
	newRepo(t, filepath.Join(root, "repo.git"))
	s := serveSSH(t, root)
	_, otherKey := newKey(t, "")
	_, lockedKey := newKey(t, "open sesame")
	locked := filepath.Join(root, "locked")
	other := filepath.Join(root, "other")
	otherHost, _ := newKey(t, "")
	changed := filepath.Join(root, "changed")
	empty := filepath.Join(root, "empty")
	line := knownhosts.Line([]string{knownhosts.Normalize(s.addr)}, otherHost.PublicKey())
	if err := errors.Join(os.WriteFile(other, otherKey, 0o600), os.WriteFile(locked, lockedKey, 0o600), os.WriteFile(changed, []byte(line+"\n"), 0o600), os.WriteFile(empty, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSH_AUTH_SOCK", "")
	for name, c := range map[string]struct {
		path  string
		edit  func(*Config)
		class connector.Class
		says  string
	}{
		"unknown host":    {"/repo.git", func(c *Config) { c.KnownHosts = empty }, connector.ClassDenied, "known_hosts"},
		"changed host":    {"/repo.git", func(c *Config) { c.KnownHosts = changed }, connector.ClassDenied, "known_hosts"},
		"no known_hosts":  {"/repo.git", func(c *Config) { c.KnownHosts = filepath.Join(root, "none") }, connector.ClassDenied, "known_hosts"},
		"opened key":      {"/repo.git", func(c *Config) { c.SSHKey, c.Passphrase = locked, "open sesame" }, connector.ClassCredentials, "refuses user git"},
		"another key":     {"/repo.git", func(c *Config) { c.SSHKey = other }, connector.ClassCredentials, "ssh_key"},
		"locked key":      {"/repo.git", func(c *Config) { c.SSHKey = locked }, connector.ClassCredentials, "ssh_key_passphrase"},
		"wrong word":      {"/repo.git", func(c *Config) { c.SSHKey, c.Passphrase = locked, "wr0ng-w0rd" }, connector.ClassCredentials, "ssh_key"},
		"no key file":     {"/repo.git", func(c *Config) { c.SSHKey = filepath.Join(root, "none") }, connector.ClassCredentials, "ssh_key"},
		"no key":          {"/repo.git", func(c *Config) { c.SSHKey = "" }, connector.ClassCredentials, "set ssh_key"},
		"wrong password":  {"/repo.git", func(c *Config) { c.SSHKey, c.Password = "", "s3cr3t" }, connector.ClassCredentials, "refuses user git"},
		"no repository":   {"/none.git", func(*Config) {}, connector.ClassNotFound, "not appear to be a git repository"},
		"shell injection": {"/x'; touch " + root + "/injected; '", func(*Config) {}, connector.ClassNotFound, "not appear to be a git repository"},
	} {
		t.Run(name, func(t *testing.T) {
			l := list(t.Context(), open(t, "ssh://git@"+s.addr+root+c.path, "", s.edit, c.edit))
			if len(l.docs) > 0 || connector.ClassOf(l.err) != c.class || !strings.Contains(l.err.Error(), c.says) {
				t.Errorf("class %v: %v", connector.ClassOf(l.err), l.err)
			}
			if l.err != nil && (strings.Contains(l.err.Error(), "wr0ng") || strings.Contains(l.err.Error(), "s3cr3t") || strings.Contains(l.err.Error(), "sesame")) {
				t.Errorf("a secret is told: %v", l.err)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(root, "injected")); err == nil {
		t.Error("the path of the url was run as a command")
	}
}

// TestSSHSilence: a server that accepts and says nothing is given up after timeout.
func TestSSHSilence(t *testing.T) {
	root := t.TempDir()
	s := serveSSH(t, root)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	source := open(t, "ssh://git@"+l.Addr().String()+"/repo.git", "", s.edit, func(c *Config) { c.Timeout = 50 * time.Millisecond })
	if err := list(t.Context(), source).err; connector.ClassOf(err) != connector.ClassTransient || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("class %v: %v", connector.ClassOf(err), err)
	}
}
