package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/kbsync/kbsync/connector"
)

// retry runs op, and again after a passing fault, with exponential backoff and jitter, waiting at least as long as the
// other side asks. It is the one place where anything is retried. An error that remains after
// the last try is an *UnreachableError; an error that retrying cannot mend is returned as it is.
func (p *Pipeline) retry(ctx context.Context, what string, op func() error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = p.opts.RetryWait, 30*time.Second
	tries := 0
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		tries++
		last = op()
		var be *connector.BatchError
		if last == nil || errors.As(last, &be) {
			return struct{}{}, backoff.Permanent(last)
		}
		var ce *connector.Error
		switch {
		case connector.ClassOf(last) == connector.ClassThrottled && errors.As(last, &ce) && ce.RetryAfter > 0:
			return struct{}{}, &backoff.RetryAfterError{Duration: ce.RetryAfter}
		case passing(last):
			return struct{}{}, last
		}
		return struct{}{}, backoff.Permanent(last)
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(uint(p.file.Sync.Retries)+1), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(_ error, d time.Duration) {
			p.log.Warn("trying again", "what", what, "in", d.Round(time.Millisecond), "error", last)
		}))
	if err != nil {
		err = last
	}
	if err == nil {
		return nil
	}
	var be *connector.BatchError
	if errors.As(err, &be) {
		return err // an answer, whatever has ended meanwhile
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch {
	case passing(err):
		return &UnreachableError{fmt.Errorf("%s: gave up after %d tries: %w", what, tries, err)}
	case connector.ClassOf(err) == connector.ClassDenied, connector.ClassOf(err) == connector.ClassCredentials:
		return &UnreachableError{fmt.Errorf("%s: %w", what, err)}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// passing says whether an error may go away by itself.
func passing(err error) bool {
	class := connector.ClassOf(err)
	return class == connector.ClassTransient || class == connector.ClassThrottled
}

// pause waits before single items are tried again: longer each time, with jitter.
func (p *Pipeline) pause(ctx context.Context, tries int) error {
	d := min(p.opts.RetryWait<<min(tries, 8), 30*time.Second)
	d = d/2 + rand.N(d/2+1)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
