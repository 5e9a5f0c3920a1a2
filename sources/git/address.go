package git

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/kbsync/kbsync/connector"
)

// The ways to a repository.
const (
	schemeFile  = "file"
	schemeSSH   = "ssh"
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// address is where a repository is.
type address struct {
	scheme  string
	display string // the URL for people and documents, without credentials
	host    string // with port, if one is given
	path    string // of the repository on its server, or of the local folder

	user     string
	password connector.Secret
}

// parseAddress reads the forms that git knows. Errors never repeat the URL: it may hold a password.
func parseAddress(raw, dir string) (address, error) {
	if scheme, _, ok := strings.Cut(raw, "://"); ok {
		return parseURL(strings.ToLower(scheme), raw)
	}
	if host, path, ok := strings.Cut(raw, ":"); ok && !strings.ContainsAny(host, `/\`) && len(host) > 1 {
		return parseSCP(raw, host, path)
	}
	if strings.Contains(raw, "\x00") {
		return address{}, errors.New("url: not a path")
	}
	return localAddress(raw, dir)
}

func localAddress(path, dir string) (address, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return address{}, fmt.Errorf("url: %w", err)
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/…
	}
	u := url.URL{Scheme: schemeFile, Path: slashed}
	return address{scheme: schemeFile, display: u.String(), path: path}, nil
}

func parseURL(scheme, raw string) (address, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return address{}, errors.New("url: not a valid URL")
	}
	switch scheme {
	case schemeFile:
		if u.Host != "" && u.Host != "localhost" {
			return address{}, errors.New("url: expected three slashes: file:///folder")
		}
		return localAddress(filepath.FromSlash(u.Path), "")
	case schemeHTTP, schemeHTTPS, schemeSSH:
	default:
		return address{}, fmt.Errorf("url: %s:// is not supported; expected https://, ssh://, git@host:path or a folder", scheme)
	}
	if u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return address{}, errors.New("url: expected a host and the path of a repository")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return address{}, errors.New("url: expected no ? or #; set ref and path in their own keys, and credentials in token or password")
	}
	at := address{scheme: scheme, host: u.Host, path: u.Path}
	if u.User != nil {
		at.user = u.User.Username()
		password, _ := u.User.Password()
		at.password = connector.Secret(password)
	}
	shown := url.URL{Scheme: scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	if scheme == schemeSSH && at.user != "" {
		shown.User = url.User(at.user)
	}
	at.display = shown.String()
	return at, nil
}

// parseSCP reads git@host:path.
func parseSCP(raw, host, path string) (address, error) {
	at := address{scheme: schemeSSH, display: raw, host: host, path: path}
	if user, rest, ok := strings.Cut(host, "@"); ok {
		at.user, at.host = user, rest
	}
	if at.host == "" || path == "" || strings.HasPrefix(at.host, "-") {
		return address{}, errors.New("url: expected git@host:path")
	}
	return at, nil
}

// takeCredentials settles who logs in: the keys of the configuration, or what stands in the URL.
func (a *address) takeCredentials(c *Config) error {
	if c.Username != "" {
		a.user = c.Username
	}
	switch {
	case c.Token != "":
		a.password = c.Token
		if a.user == "" && a.scheme != schemeSSH {
			a.user = "x-access-token" // hosts look at the token alone
		}
	case c.Password != "":
		a.password = c.Password
	}
	switch a.scheme {
	case schemeSSH:
		if a.user == "" {
			a.user = "git"
		}
	case schemeHTTP:
		host := a.host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if a.hasLogin() && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return errors.New("url: credentials are not sent over http://, where everybody can read them; use https://")
		}
	case schemeHTTPS:
		if a.password != "" && a.user == "" {
			return errors.New("username: missing beside password")
		}
	}
	return nil
}

// endpoint is the address as go-git has it, without credentials.
func (a *address) endpoint() *transport.Endpoint {
	u := url.URL{Host: a.host, Path: strings.TrimRight(a.path, "/")}
	host, port := u.Hostname(), 0
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if n, err := strconv.Atoi(u.Port()); err == nil {
		port = n
	}
	return &transport.Endpoint{Protocol: a.scheme, Host: host, Port: port, Path: u.EscapedPath()}
}

func (a *address) hasLogin() bool { return a.user != "" || a.password != "" }

// file is a file named in the configuration.
func (s *Source) file(name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.dir, name)
	}
	return name, nil
}
