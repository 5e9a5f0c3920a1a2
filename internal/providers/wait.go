package providers

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestWait bounds what a header can ask for: a service that is closed for longer is asked again each hour.
const longestWait = time.Hour

// RetryAfter is how long an answer asks to wait, at most an hour; 0 if it does not say. It reads retry-after-ms, Retry-After (seconds, with a
// fraction too, or a date) and, where those are missing, the x-ratelimit-reset headers: that of the limit which is used up, or the
// soonest. Their forms are Go's durations ("1s", "6m0s", "20ms"), seconds, or the time as Unix seconds or milliseconds.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	if s := h.Get("Retry-After"); s != "" {
		return waitOf(s, now)
	}
	var used, soonest time.Duration
	for name, values := range h {
		rest, ok := strings.CutPrefix(strings.ToLower(name), "x-ratelimit-reset")
		if !ok || len(values) == 0 {
			continue
		}
		d := waitOf(values[0], now)
		if d == 0 {
			continue
		}
		if left := h.Get("X-Ratelimit-Remaining" + rest); left == "0" {
			used = max(used, d)
		}
		if soonest == 0 || d < soonest {
			soonest = d
		}
	}
	if used > 0 {
		return used
	}
	return soonest
}

func waitOf(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		switch {
		case x > 1e12:
			return min(longestWait, max(0, time.UnixMilli(int64(x)).Sub(now)))
		case x > 1e9:
			return min(longestWait, max(0, time.Unix(int64(x), 0).Sub(now)))
		}
		return bounded(x)
	}
	if d, err := time.ParseDuration(s); err == nil {
		return min(longestWait, max(0, d))
	}
	if t, err := http.ParseTime(s); err == nil {
		return min(longestWait, max(0, t.Sub(now)))
	}
	return 0
}

func bounded(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, longestWait.Seconds()) * float64(time.Second))
}
