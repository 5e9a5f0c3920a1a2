package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
)

// TestRetry: passing faults are tried again, as often as configured, others never; what remains is classed for the exit code.
func TestRetry(t *testing.T) {
	p := &Pipeline{file: &config.File{Sync: config.Sync{Retries: 3}}, log: slog.New(slog.DiscardHandler), opts: Options{RetryWait: time.Microsecond}}
	for _, c := range []struct {
		class connector.Class
		fails int
		tries int
		exit  int
	}{
		{connector.ClassTransient, 2, 3, ExitDone},
		{connector.ClassTransient, 9, 4, ExitUnreachable},
		{connector.ClassThrottled, 9, 4, ExitUnreachable},
		{connector.ClassInvalid, 9, 1, ExitFailed},
		{connector.ClassDenied, 9, 1, ExitUnreachable},
		{connector.ClassFull, 9, 1, ExitFailed},
	} {
		tries := 0
		err := p.retry(context.Background(), "test", func() error {
			if tries++; tries > c.fails {
				return nil
			}
			return connector.Errorf(c.class, "fault")
		})
		if tries != c.tries || ExitCode(err) != c.exit {
			t.Errorf("%s, %d faults: %d tries, exit %d (%v), want %d and %d", c.class, c.fails, tries, ExitCode(err), err, c.tries, c.exit)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.retry(ctx, "test", func() error { return connector.Errorf(connector.ClassTransient, "fault") }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	p := &Pipeline{file: &config.File{Sync: config.Sync{Retries: 1}}, log: slog.New(slog.DiscardHandler), opts: Options{RetryWait: time.Microsecond}}
	const wait = 50 * time.Millisecond
	start, tries := time.Now(), 0
	err := p.retry(context.Background(), "test", func() error {
		if tries++; tries > 1 {
			return nil
		}
		return &connector.Error{Class: connector.ClassThrottled, RetryAfter: wait, Err: errors.New("slow down")}
	})
	if err != nil || time.Since(start) < wait {
		t.Fatalf("%v after %s, want at least %s", err, time.Since(start), wait)
	}
}
