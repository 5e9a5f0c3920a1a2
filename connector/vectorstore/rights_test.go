//go:build unix

package vectorstore

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// asNobody reads a store as somebody who may write neither the file nor its folder. The test may run as root, whom rights do not bind: so the test binary
// does it as another user, from a place where that user may run it.
func asNobody(t *testing.T, path string) {
	t.Helper()
	public, err := os.MkdirTemp(openPlace(t), "kbsync-store-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(public) })
	for from, to := range map[string]string{os.Args[0]: "test", path: "v.db"} {
		if err := copyFile(from, filepath.Join(public, to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(public, "v.db"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(public, 0o555); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(public, 0o755) }()
	cmd := start(t, filepath.Join(public, "v.db"), "reader")
	cmd.Path, cmd.Dir = filepath.Join(public, "test"), public
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if err := cmd.Run(); err != nil {
		t.Errorf("as another user: %v", err)
	}
}

// openPlace is a folder for temporary files that every user may pass through.
func openPlace(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		passable := true
		for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
			info, err := os.Stat(at)
			passable = passable && err == nil && info.Mode()&0o001 != 0
			if at == filepath.Dir(at) {
				break
			}
		}
		if passable {
			return dir
		}
	}
	t.Fatal("no folder for temporary files is open to other users: set TMPDIR to one")
	return ""
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// childReadOnly opens, as a run does, a store that it may not write.
func childReadOnly(ctx context.Context, path string) error {
	s, err := Open(ctx, path, Options{Create: true})
	if err != nil {
		return err
	}
	if err := sound(ctx, s, []Vector{text(1)}, true); err != nil {
		return err
	}
	if err := s.Put(ctx, model, []Vector{text(2)}); connector.ClassOf(err) != connector.ClassDenied {
		return fmt.Errorf("writing: %w", err)
	}
	return s.Close()
}
