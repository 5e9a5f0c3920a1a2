package pdf

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
)

// forms adds forms in forms: each draws the next one twice, n deep.
func forms(b *builder, n int) int {
	next := b.stream("/Type /XObject /Subtype /Form /BBox [0 0 600 800]", put("F1", 10, 50, 50, "deep"), false)
	for range n {
		next = b.stream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /X %d 0 R >> >>", next), "/X Do /X Do", false)
	}
	return next
}

func TestEndless(t *testing.T) {
	b := newBuilder()
	x := forms(b, 28)
	b.page("/X Do", fmt.Sprintf("/XObject << /X %d 0 R >>", x))
	open := opener(t, func(c *Config) { c.Timeout = time.Second })
	start := time.Now()
	_, err := parsertest.Collect(context.Background(), open(), "a.pdf", strings.NewReader(string(b.bytes())))
	t.Log(time.Since(start), err)
	if err == nil || connector.ClassOf(err) != connector.ClassInvalid {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second/2)
	defer cancel()
	start = time.Now()
	_, err = parsertest.Collect(ctx, opener(t)(), "a.pdf", strings.NewReader(string(b.bytes())))
	if t.Log(time.Since(start), err); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
