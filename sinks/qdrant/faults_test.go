package qdrant

import (
	"context"
	"testing"
	"time"
)

// testContext is for cleanups, when the test's own context is over.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
