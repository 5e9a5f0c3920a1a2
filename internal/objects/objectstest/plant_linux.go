package objectstest

import (
	"context"
	"crypto/md5" //nolint:gosec // it is what an ETag is
	"encoding/hex"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kbsync/kbsync/internal/servers"
)

// Plant stores n objects as Fill does, in a tenth of the time: versitygw keeps objects as files, with their ETags beside them.
func (b *S3Bucket) Plant(tb testing.TB, server *servers.Server, n int, object func(i int) (key string, data []byte)) {
	tb.Helper()
	root := filepath.Join(server.Dir(), "root", b.Name)
	Parallel(tb, 2, n, func(_ context.Context, i int) error {
		key, data := object(i)
		name := filepath.Join(root, filepath.FromSlash(key))
		err := os.WriteFile(name, data, 0o600)
		if os.IsNotExist(err) {
			if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
				err = os.WriteFile(name, data, 0o600)
			}
		}
		if err != nil {
			return err
		}
		sum := md5.Sum(data) //nolint:gosec // as above
		return syscall.Setxattr(name, "user.etag", []byte(hex.EncodeToString(sum[:])), 0)
	})
}
