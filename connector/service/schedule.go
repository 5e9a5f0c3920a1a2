package service

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/kbsync/kbsync/connector/config"
)

// timetable says when runs are due.
type timetable struct {
	schedule cron.Schedule
	jitter   time.Duration
	text     string
}

// newTimetable is nil where nothing is scheduled.
func newTimetable(conf *config.Sync, every time.Duration) (*timetable, error) {
	text := conf.Schedule
	if every != 0 {
		text = "@every " + every.String()
	}
	if text == "" {
		return nil, nil
	}
	s, err := config.ParseSchedule(text)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", text, err)
	}
	return &timetable{s, conf.Jitter, text}, nil
}

// anyHour is the bit by which the parser marks a field that is *.
const anyHour = 1 << 63

// next is the first tick after a time. The parser's own rule skips what falls into the hour that a change of the clock leaves
// out, and runs twice what falls into the one that it repeats. Here, as in Vixie's cron, a line that names its hours then runs
// right after the change, and only the first time.
func (t *timetable) next(after time.Time) time.Time {
	spec, ok := t.schedule.(*cron.SpecSchedule)
	if !ok || spec.Hour&anyHour != 0 {
		return t.schedule.Next(after)
	}
	next := spec.Next(after)
	for !next.IsZero() && t.repeated(spec, next) {
		next = spec.Next(next)
	}
	if skipped := t.leftOut(spec, after, next); !skipped.IsZero() {
		return skipped
	}
	return next
}

// location is where the line's times are meant.
func location(spec *cron.SpecSchedule, at time.Time) *time.Location {
	if spec.Location == time.Local { // the parser's mark for: that of the time asked about
		return at.Location()
	}
	return spec.Location
}

// repeated says that a clock showed the same time before it was set back.
func (t *timetable) repeated(spec *cron.SpecSchedule, tick time.Time) bool {
	local := tick.In(location(spec, tick))
	start, _ := local.ZoneBounds()
	if start.IsZero() {
		return false
	}
	back := offset(start.Add(-1).In(local.Location())) - offset(local)
	return back > 0 && local.Sub(start) < back
}

// leftOut is the time of the first change of the clock between two times that leaves a tick out; zero if there is none.
func (t *timetable) leftOut(spec *cron.SpecSchedule, after, until time.Time) time.Time {
	loc := location(spec, after)
	for at := after.In(loc); ; {
		_, change := at.ZoneBounds()
		if change.IsZero() || !change.Before(until) {
			return time.Time{}
		}
		change = change.In(loc)
		before := change.Add(-1)
		gap := offset(change) - offset(before)
		if gap > 0 && change.After(after) {
			// What would tick if the clock had not been changed?
			fixed := *spec
			fixed.Location = time.FixedZone("", int(offset(before)/time.Second))
			if tick := fixed.Next(before); tick.Before(change.Add(gap)) {
				return change.In(after.Location())
			}
		}
		at = change
	}
}

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// due is when the run of a tick starts: a random time later, and always before the next tick.
func (t *timetable) due(tick time.Time) time.Time {
	room := t.next(tick).Sub(tick)
	if wait := min(t.jitter, room); wait > 0 {
		tick = tick.Add(rand.N(wait)) //nolint:gosec // no secret hangs on it
	}
	return tick
}

// maxPassed bounds the counting of ticks that passed.
const maxPassed = 100_000

// pass counts the ticks after one up to a time, and gives the first one later than that.
func (t *timetable) pass(tick, now time.Time) (passed int, next time.Time) {
	for !tick.IsZero() && !tick.After(now) {
		if passed++; passed >= maxPassed {
			return passed, t.next(now)
		}
		tick = t.next(tick)
	}
	return passed, tick
}

// The waits before a failed run is tried again.
const (
	firstRetry = 10 * time.Second
	lastRetry  = 10 * time.Minute
)

// backoff is the wait after the n-th failure in a row: doubled each time, and cut by a random part of up to a half, so that many
// services do not come back at once.
func backoff(n int) time.Duration {
	d := lastRetry
	if n < 7 {
		d = min(firstRetry<<(n-1), lastRetry)
	}
	return d - rand.N(d/2) //nolint:gosec // no secret hangs on it
}
