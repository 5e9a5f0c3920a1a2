//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package fs

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSpecialFiles(t *testing.T) {
	root := tree(t, "a.md", "z.md")
	must(t, unix.Mkfifo(filepath.Join(root, "pipe"), 0o644))
	t.Chdir(root) // a socket's path is short
	l, err := net.Listen("unix", "socket")
	must(t, err)
	defer func() { must(t, l.Close()) }()
	expect(t, listing(t, Config{Root: root}), "a.md", "pipe: named pipe", "socket: socket", "z.md")
}

// TestPipeInItsPlace: a document that became a pipe does not hang the reader.
func TestPipeInItsPlace(t *testing.T) {
	root := tree(t, "a.md")
	s := open(t, Config{Root: root})
	defer func() { must(t, s.Close()) }()
	for c, err := range s.Changes(t.Context()) {
		must(t, err)
		must(t, os.Remove(filepath.Join(root, "a.md")))
		must(t, unix.Mkfifo(filepath.Join(root, "a.md"), 0o644))
		if r, err := c.Document.Open(t.Context()); err == nil {
			t.Error("a pipe is opened", r.Close())
		}
	}
}

func TestLinks(t *testing.T) {
	outside := tree(t, "secret")
	root := tree(t, "a.md", "dir/b.md", "dir/up -> ..", "dir/self -> self", "link.md -> a.md", "abs.md -> ROOT/dir/b.md",
		"nowhere -> missing", "out -> "+outside, "out.md -> "+outside+"/secret", "ln -> dir", "twice.md -> link.md", "two -> ln")
	t.Run("off", func(t *testing.T) {
		for _, item := range listing(t, Config{Root: root}) {
			if _, reason, skipped := strings.Cut(item, ": "); skipped && reason != "symbolic link (follow_links is off)" {
				t.Error(item)
			}
		}
		expect(t, listing(t, Config{Root: root, Include: []string{"**/b.md"}}), "dir/b.md")
	})
	t.Run("on", func(t *testing.T) {
		const loop, out = ": symbolic link in a loop", ": symbolic link that leads out of the root"
		expect(t, listing(t, Config{Root: root, FollowLinks: true}),
			"a.md", "abs.md",
			"dir/b.md", "dir/self"+loop, "dir/up"+loop,
			"link.md",
			"ln/b.md", "ln/self"+loop, "ln/up"+loop,
			"nowhere: symbolic link that leads nowhere", "out"+out, "out.md"+out, "twice.md",
			"two/b.md", "two/self"+loop, "two/up"+loop)
	})
	t.Run("content", func(t *testing.T) {
		s := open(t, Config{Root: root, FollowLinks: true, Include: []string{"**/*.md"}})
		defer func() { must(t, s.Close()) }()
		for c, err := range s.Changes(t.Context()) {
			must(t, err)
			if c.Document.Open == nil {
				continue
			}
			r, err := c.Document.Open(t.Context())
			if err != nil {
				t.Errorf("%s: %v", c.Document.Path, err)
				continue
			}
			must(t, r.Close())
		}
	})
}

// TestLinkBomb: folders full of links to each other do not multiply without end.
func TestLinkBomb(t *testing.T) {
	var names []string
	for _, dir := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		for _, to := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			names = append(names, dir+"/"+to+" -> ../"+to)
		}
	}
	refused := false
	for _, item := range listing(t, Config{Root: tree(t, names...), FollowLinks: true}) {
		refused = refused || strings.Contains(item, "too many symbolic links")
	}
	if !refused {
		t.Error("all links were followed")
	}
}

// TestNames: names that differ in their Unicode form are two documents; what is no UTF-8 is reported.
func TestNames(t *testing.T) {
	root := tree(t, "caf\u00e9.md", "cafe\u0301.md", "new\nline.md", "back\\slash.md")
	if err := os.WriteFile(filepath.Join(root, "bad\xff.md"), nil, 0o644); err != nil {
		t.Logf("the file system takes no such name: %v", err)
		return
	}
	must(t, os.Mkdir(filepath.Join(root, "dir\xfe"), 0o755))
	const fault = ": fs: the name is not valid UTF-8 and cannot be stored; rename it"
	expect(t, listing(t, Config{Root: root}), "back\\slash.md", `! bad\xff.md`+fault, "cafe\u0301.md", "caf\u00e9.md", `! dir\xfe`+fault, "new\nline.md")
}

// TestUnreadable: a folder without rights is reported, the rest is listed. Root may read everything.
func TestUnreadable(t *testing.T) {
	root := tree(t, "a/x.md", "b/y.md", "c.md")
	must(t, os.Chmod(filepath.Join(root, "a"), 0))
	t.Cleanup(func() { must(t, os.Chmod(filepath.Join(root, "a"), 0o755)) })
	want := []string{"! a: fs: permission denied", "b/y.md", "c.md"}
	if os.Geteuid() == 0 {
		want[0] = "a/x.md"
	}
	expect(t, listing(t, Config{Root: root}), want...)
}
