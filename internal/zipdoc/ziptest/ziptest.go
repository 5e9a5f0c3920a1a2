// Package ziptest makes packages for tests.
package ziptest

import (
	"archive/zip"
	"bytes"
	"testing"
)

// Pack is a zip file of members by name and content, in order.
func Pack(tb testing.TB, members ...string) string {
	tb.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(members); i += 2 {
		w, err := z.Create(members[i])
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(members[i+1])); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}
