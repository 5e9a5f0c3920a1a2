//go:build !linux

package objectstest

import (
	"testing"

	"github.com/kbsync/kbsync/internal/servers"
)

// Plant is Fill where files have no extended attributes of Linux's kind.
func (b *S3Bucket) Plant(tb testing.TB, _ *servers.Server, n int, object func(i int) (key string, data []byte)) {
	tb.Helper()
	b.Fill(tb, n, object)
}
