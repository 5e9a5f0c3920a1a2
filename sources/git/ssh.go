package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/kbsync/kbsync/connector"
)

const (
	sshPort    = "22"
	maxMessage = 4096 // of what the server says besides
)

// sshSession runs git-upload-pack on the server. It ends with ctx in every state, the handshake included.
type sshSession struct {
	client  *ssh.Client
	session *ssh.Session
	in      io.WriteCloser
	out     io.Reader
	says    *message
	stop    func() bool
}

func (s *Source) dialSSH(ctx context.Context, alive func()) (_ session, err error) {
	config, done, err := s.sshConfig(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	host := s.address.host
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), sshPort)
	}
	if config.HostKeyCallback, config.HostKeyAlgorithms, err = s.hostKeys(host); err != nil {
		return nil, err
	}
	raw, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	conn := &watchedConn{Conn: raw, alive: alive}
	out := &sshSession{stop: context.AfterFunc(ctx, func() { _ = raw.Close() })}
	c, channels, requests, err := ssh.NewClientConn(conn, host, config)
	if err != nil {
		out.stop()
		return nil, errors.Join(err, ignoreClosed(raw.Close()))
	}
	out.client = ssh.NewClient(c, channels, requests)
	if err := out.start(s.address.path); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

func (s *sshSession) start(path string) (err error) {
	if s.session, err = s.client.NewSession(); err != nil {
		return err
	}
	if s.in, err = s.session.StdinPipe(); err != nil {
		return err
	}
	if s.out, err = s.session.StdoutPipe(); err != nil {
		return err
	}
	s.says = &message{}
	s.session.Stderr = s.says
	return s.session.Start("git-upload-pack '" + strings.ReplaceAll(path, "'", `'\''`) + "'")
}

// AdvertisedReferencesContext reads what the server says first. ctx ends the whole session.
func (s *sshSession) AdvertisedReferencesContext(context.Context) (*packp.AdvRefs, error) {
	adv := packp.NewAdvRefs()
	if err := adv.Decode(io.LimitReader(s.out, maxAdvertised)); err != nil {
		if errors.Is(err, packp.ErrEmptyAdvRefs) {
			return nil, transport.ErrEmptyRemoteRepository
		}
		return nil, s.failed(err)
	}
	if adv.IsEmpty() {
		return nil, transport.ErrEmptyRemoteRepository
	}
	transport.FilterUnsupportedCapabilities(adv.Capabilities)
	return adv, nil
}

// UploadPack sends the request and gives the answer up to the pack.
func (s *sshSession) UploadPack(_ context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := req.UploadRequest.Encode(&b); err != nil {
		return nil, err
	}
	if err := req.UploadHaves.Encode(&b, false); err != nil {
		return nil, err
	}
	if err := pktline.NewEncoder(&b).EncodeString("done\n"); err != nil {
		return nil, err
	}
	if _, err := s.in.Write(b.Bytes()); err != nil {
		return nil, err
	}
	resp := packp.NewUploadPackResponse(req)
	if err := resp.Decode(io.NopCloser(s.out)); err != nil {
		return nil, s.failed(err)
	}
	return resp, nil
}

// failed ends the command, so that all it has to say of err has come.
func (s *sshSession) failed(err error) error {
	_ = s.session.Close() // so that Wait returns; its error says less than the message
	_ = s.session.Wait()
	return &sshError{message: s.says.text(), err: err}
}

func (s *sshSession) Close() error {
	defer s.stop()
	return ignoreClosed(s.client.Close())
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// sshConfig says who logs in; done ends the connection to the agent.
func (s *Source) sshConfig(ctx context.Context) (config *ssh.ClientConfig, done func() error, err error) {
	config = &ssh.ClientConfig{User: s.address.user, Timeout: dialTimeout}
	done = func() error { return nil }
	if s.config.SSHKey != "" {
		signer, err := s.signer()
		config.Auth = append(config.Auth, ssh.PublicKeys(signer))
		return config, done, err
	}
	if s.address.password != "" {
		config.Auth = append(config.Auth, ssh.Password(s.address.password.Reveal()))
		return config, done, nil
	}
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, done, connector.Errorf(connector.ClassCredentials, "git: %s: there is no ssh agent; set ssh_key", s.address.display)
	}
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, done, connector.Errorf(connector.ClassCredentials, "git: %s: the ssh agent does not answer; set ssh_key: %w", s.address.display, err)
	}
	config.Auth = append(config.Auth, ssh.PublicKeysCallback(agent.NewClient(conn).Signers))
	return config, conn.Close, nil
}

func (s *Source) signer() (ssh.Signer, error) {
	name, err := s.file(s.config.SSHKey)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(name)
	if err != nil {
		return nil, connector.Errorf(connector.ClassCredentials, "git: ssh_key: %w", err)
	}
	var signer ssh.Signer
	if p := s.config.Passphrase; p != "" {
		signer, err = ssh.ParsePrivateKeyWithPassphrase(pem, []byte(p.Reveal()))
	} else {
		signer, err = ssh.ParsePrivateKey(pem)
	}
	if missing := (*ssh.PassphraseMissingError)(nil); errors.As(err, &missing) {
		return nil, connector.Errorf(connector.ClassCredentials, "git: ssh_key %s is locked; set ssh_key_passphrase", name)
	}
	if err != nil {
		return nil, connector.Errorf(connector.ClassCredentials, "git: ssh_key %s: %w", name, err)
	}
	return signer, nil
}

// hostKeys checks the server against the known hosts; there is no way around it.
func (s *Source) hostKeys(host string) (ssh.HostKeyCallback, []string, error) {
	var files []string
	if s.config.KnownHosts != "" {
		name, err := s.file(s.config.KnownHosts)
		if err != nil {
			return nil, nil, err
		}
		files = []string{name}
	} else {
		if home, err := os.UserHomeDir(); err == nil {
			files = append(files, filepath.Join(home, ".ssh", "known_hosts"))
		}
		files = append(files, "/etc/ssh/ssh_known_hosts")
		for i := len(files) - 1; i >= 0; i-- {
			if _, err := os.Stat(files[i]); errors.Is(err, fs.ErrNotExist) {
				files = append(files[:i], files[i+1:]...)
			}
		}
	}
	if len(files) == 0 {
		return nil, nil, connector.Errorf(connector.ClassDenied, "git: %s: there is no known_hosts file to check the server's key against; set known_hosts (ssh-keyscan makes one)", s.address.display)
	}
	db, err := knownhosts.NewDB(files...)
	if err != nil {
		return nil, nil, connector.Errorf(connector.ClassDenied, "git: known_hosts: %w", err)
	}
	return db.HostKeyCallback(), db.HostKeyAlgorithms(host), nil
}

// sshError is a failed exchange with what the server said of it.
type sshError struct {
	message string
	err     error
}

func (e *sshError) Error() string {
	if e.message == "" {
		return e.err.Error()
	}
	return "the server says: " + e.message
}

func (e *sshError) Unwrap() error { return e.err }

// message keeps the beginning of what the server says.
type message struct {
	mu   sync.Mutex
	data []byte
}

func (m *message) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data = append(m.data, p[:min(len(p), maxMessage-len(m.data))]...)
	return len(p), nil
}

func (m *message) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(m.data), "?"))
	return strings.Join(strings.Fields(clean), " ")
}

// watchedConn notes every sign of life.
type watchedConn struct {
	net.Conn
	alive func()
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.alive()
	}
	return n, err
}
