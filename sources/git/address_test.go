package git

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func TestAddresses(t *testing.T) {
	for raw, want := range map[string]address{
		"https://github.com/org/repo.git":     {scheme: "https", display: "https://github.com/org/repo.git", host: "github.com", path: "/org/repo.git"},
		"https://u:p@git.example:8443/a%20b/": {scheme: "https", display: "https://git.example:8443/a%20b", host: "git.example:8443", path: "/a b/", user: "u", password: "p"},
		"ssh://me@git.example:22/srv/r.git":   {scheme: "ssh", display: "ssh://me@git.example:22/srv/r.git", host: "git.example:22", path: "/srv/r.git", user: "me"},
		"git@github.com:org/repo.git":         {scheme: "ssh", display: "git@github.com:org/repo.git", host: "github.com", path: "org/repo.git", user: "git"},
		"../repo":                             {scheme: "file", display: "file:///srv/repo", path: "/srv/repo"},
		"/abs/with space":                     {scheme: "file", display: "file:///abs/with%20space", path: "/abs/with space"},
		"file:///abs/with%20space":            {scheme: "file", display: "file:///abs/with%20space", path: "/abs/with space"},
		"./odd:name":                          {scheme: "file", display: "file:///srv/kb/odd:name", path: "/srv/kb/odd:name"},
		"https://[2001:db8::1]:8443/r":        {scheme: "https", display: "https://[2001:db8::1]:8443/r", host: "[2001:db8::1]:8443", path: "/r"},
		"HTTPS://GitHub.com/org/repo":         {scheme: "https", display: "https://GitHub.com/org/repo", host: "GitHub.com", path: "/org/repo"},
	} {
		got, err := parseAddress(raw, filepath.FromSlash("/srv/kb"))
		if err != nil || got != want {
			t.Errorf("%s: %+v, error %v; want %+v", raw, got, err, want)
		}
	}
	at, err := parseAddress("https://[2001:db8::1]:8443/a%20b/", "")
	if e := at.endpoint(); err != nil || e.String() != "https://[2001:db8::1]:8443/a%20b" {
		t.Errorf("%s, error %v", e, err)
	}
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Config)
		says string
	}{
		"no url":        {func(c *Config) { c.URL = "" }, "url: missing"},
		"git protocol":  {func(c *Config) { c.URL = "git://h/r" }, "git:// is not supported"},
		"an option":     {func(c *Config) { c.URL = "-oProxyCommand=x:y" }, "expected git@host:path"},
		"no path":       {func(c *Config) { c.URL = "https://h/" }, "the path of a repository"},
		"a range":       {func(c *Config) { c.Ref = "a..b" }, "ref:"},
		"an expression": {func(c *Config) { c.Ref = "HEAD~1" }, "ref:"},
		"out":           {func(c *Config) { c.Path = "a/../../b" }, "path:"},
		"absolute":      {func(c *Config) { c.Path = "/a" }, "path:"},
		"two secrets":   {func(c *Config) { c.Token, c.Password = "a", "b" }, "token and password"},
		"negative":      {func(c *Config) { c.Depth = -1 }, "depth"},
		"passphrase":    {func(c *Config) { c.Passphrase = "x" }, "ssh_key_passphrase"},
		"glob":          {func(c *Config) { c.Include = []string{"["} }, "include[0]"},
		"clear text":    {func(c *Config) { c.URL, c.Token = "http://example.com/r", "t" }, "use https://"},
		"no username":   {func(c *Config) { c.Password = connector.Secret("p") }, "username: missing"},
	} {
		cfg := defaults()
		cfg.URL = "https://example.com/r"
		c.edit(&cfg)
		if _, err := Open(cfg, "", ""); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNearestNames(t *testing.T) {
	got := nearestNames([]string{"release/1.0", "main", "Master", "dev", "maintenance", "x", "main"}, "master")
	if len(got) != mostHints || got[0] != "Master" || got[1] != "main" {
		t.Errorf("%q", got)
	}
}
