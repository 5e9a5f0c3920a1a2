// Package shareddata finds the folder of real documents that the law tests and
// benchmarks read. The documents are not part of the repository.
package shareddata

import (
	"os"
	"path/filepath"
	"testing"
)

// Find returns the data folder: $KBSYNC_SHARED/data, else the nearest shared/data beside or above the working
// directory; ok is false if there is none.
func Find() (dir string, ok bool) {
	if env := os.Getenv("KBSYNC_SHARED"); env != "" {
		return check(filepath.Join(env, "data"))
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		if dir, ok := check(filepath.Join(wd, "shared", "data")); ok {
			return dir, true
		}
		parent := filepath.Dir(wd)
		if parent == wd {
			return "", false
		}
		wd = parent
	}
}

func check(dir string) (string, bool) {
	info, err := os.Stat(dir)
	return dir, err == nil && info.IsDir()
}

// Dir is Find for tests: without the data the test is skipped, or fails if KBSYNC_REQUIRE_DATA is set.
func Dir(tb testing.TB) string {
	tb.Helper()
	dir, ok := Find()
	if ok {
		return dir
	}
	if os.Getenv("KBSYNC_REQUIRE_DATA") != "" {
		tb.Fatal("the folder of real documents (shared/data) is missing, and KBSYNC_REQUIRE_DATA is set")
	}
	tb.Skip("no folder of real documents (shared/data); set KBSYNC_SHARED to its parent")
	return ""
}
