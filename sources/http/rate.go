package httpsource

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is requests a second; 0 means no limit.
type Rate float64

// String is the form that UnmarshalText reads.
func (r Rate) String() string {
	if r > 0 && r < 1 {
		return strconv.FormatFloat(float64(r)*60, 'g', -1, 64) + "/m"
	}
	return strconv.FormatFloat(float64(r), 'g', -1, 64) + "/s"
}

// MarshalText is String.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads 2/s, 30/m, 100/h, or a number of requests a second.
func (r *Rate) UnmarshalText(text []byte) error {
	number, unit, given := strings.Cut(strings.TrimSpace(string(text)), "/")
	seconds, known := map[string]float64{"s": 1, "m": 60, "min": 60, "h": 3600}[strings.TrimSpace(unit)]
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !given {
		seconds, known = 1, true
	}
	if err != nil || !known || !(n >= 0 && n <= 1e6) {
		return errors.New("expected a rate such as 2/s, 30/m or 0")
	}
	*r = Rate(n / seconds)
	return nil
}

// JSONSchema describes what UnmarshalText takes.
func (Rate) JSONSchema() map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "number", "minimum": 0},
		map[string]any{"type": "string", "pattern": `^\s*[0-9.]+\s*(/\s*(s|m|min|h)\s*)?$|\$\{`},
	}}
}

// longestDelay caps what a Crawl-delay may ask for.
const longestDelay = 30 * time.Second

// maxHosts bounds the hosts whose last requests are remembered.
const maxHosts = 1024

// limits spaces the requests to each host.
type limits struct {
	perSecond float64

	mu     sync.Mutex
	byHost map[string]*rate.Limiter
}

func newLimits(perSecond float64) *limits {
	return &limits{perSecond: perSecond, byHost: map[string]*rate.Limiter{}}
}

func (l *limits) configured() rate.Limit {
	if l.perSecond > 0 {
		return rate.Limit(l.perSecond)
	}
	return rate.Inf
}

func (l *limits) limiter(host string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	lim, ok := l.byHost[host]
	if !ok {
		if len(l.byHost) >= maxHosts {
			clear(l.byHost)
		}
		lim = rate.NewLimiter(l.configured(), 1)
		l.byHost[host] = lim
	}
	return lim
}

// wait returns when the next request to host may start.
func (l *limits) wait(ctx context.Context, host string) error {
	lim := l.limiter(host)
	if lim.Limit() == rate.Inf {
		return ctx.Err()
	}
	r := lim.Reserve()
	delay := r.Delay()
	if delay == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		r.Cancel()
		return fmt.Errorf("waiting for the next request to %s: %w", host, ctx.Err())
	}
}

// slow obeys a Crawl-delay, or its absence: never faster than the configuration says.
func (l *limits) slow(host string, delay time.Duration) {
	every := l.configured()
	if delay > 0 {
		every = min(every, rate.Every(min(delay, longestDelay)))
	}
	if lim := l.limiter(host); lim.Limit() != every {
		lim.SetLimit(every)
	}
}
