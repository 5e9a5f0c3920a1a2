package service

import (
	"errors"
	"time"

	"github.com/kbsync/kbsync/connector/ledger"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// The outcomes of a run.
const (
	outcomeOK          = "ok"
	outcomeFailed      = "failed"      // some documents failed
	outcomeUnreachable = "unreachable" // a service did not answer
	outcomeRefused     = "refused"     // a guard refused: a person must look
	outcomeDrained     = "drained"     // stopped in order
	outcomeError       = "error"       // anything else, a pipeline that is locked included
)

var outcomes = [...]string{outcomeOK, outcomeFailed, outcomeUnreachable, outcomeRefused, outcomeDrained, outcomeError}

// outcomeOf sorts the error of a run.
func outcomeOf(err error) string {
	var locked *ledger.LockedError
	var failed *pipeline.FailedError
	switch code := pipeline.ExitCode(err); {
	case err == nil:
		return outcomeOK
	case code == pipeline.ExitDone:
		return outcomeDrained
	case errors.As(err, &locked):
		return outcomeError
	case code == pipeline.ExitRefused:
		return outcomeRefused
	case code == pipeline.ExitUnreachable:
		return outcomeUnreachable
	case errors.As(err, &failed):
		return outcomeFailed
	}
	return outcomeError
}

// ended is a run that came to its end.
type ended struct {
	Started time.Time        `json:"started"`
	Ended   time.Time        `json:"ended"`
	Reason  string           `json:"reason"`
	Outcome string           `json:"outcome"`
	Error   string           `json:"error,omitempty"`
	Result  *pipeline.Result `json:"result,omitempty"`
}

// state is what the loop knows. Service.mu guards it.
type state struct {
	alive, stopping bool
	started         time.Time

	tick, due               time.Time // the next tick, and when its run starts
	owed                    string    // why a run is due at once; empty: none is
	asked                   bool
	firstChange, lastChange time.Time // since the last run started
	retryAt                 time.Time
	failures                int // in a row
	idle                    int // runs in a row that a change set off and that found nothing to do

	running  time.Time // since when; zero: no run is under way
	reason   string
	progress *progress
	runs     int64
	missed   int64
	last     *ended
	success  time.Time // when a run last ended well

	status   *pipeline.Status
	statusAt time.Time
}

// changed notes a change. Noise that stopped a while ago is forgotten.
func (st *state) changed(now time.Time, poll time.Duration) {
	if st.firstChange.IsZero() {
		st.firstChange = now
		if st.last != nil && now.Sub(st.last.Ended) > 2*poll {
			st.idle = 0
		}
	}
	st.lastChange = now
}

// changeDue is when the run of the changes starts. Where changes lead to nothing (a program that writes beside the
// documents, the sink's own file in the folder), the quiet that is waited for doubles up to the time between polls.
func (st *state) changeDue(debounce, poll time.Duration) time.Time {
	wait := debounce
	for range min(st.idle, 16) {
		wait = max(min(2*wait, poll), debounce)
	}
	due := st.lastChange.Add(wait)
	if latest := st.firstChange.Add(10 * wait); due.After(latest) {
		due = latest
	}
	if st.retryAt.After(due) && st.last != nil && st.last.Outcome != outcomeFailed {
		due = st.retryAt // what failed then would fail again; a document that failed may have been mended
	}
	return due
}

// next is the run that is due first: why and when. Why is empty if nothing is to come.
func (st *state) next(debounce, poll time.Duration, now time.Time) (why string, due time.Time) {
	first := func(reason string, at time.Time) {
		if !at.IsZero() && (why == "" || at.Before(due)) {
			why, due = reason, at
		}
	}
	switch {
	case st.asked:
		return "request", now
	case st.owed != "":
		return st.owed, now
	}
	first("schedule", st.due)
	first("retry", st.retryAt)
	if !st.firstChange.IsZero() {
		first("change", st.changeDue(debounce, poll))
	}
	return why, due
}

// unready is why the knowledge base may not be up to date; empty if it is.
func (st *state) unready() string {
	switch {
	case st.stopping:
		return "stopping"
	case st.last == nil:
		return "no run has ended yet"
	case st.last.Outcome != outcomeOK:
		reason := "the last run ended " + st.last.Outcome
		if st.last.Error != "" {
			reason += ": " + st.last.Error
		}
		return reason
	}
	return ""
}

// unhealthy is why the service should be started anew; empty if it is well.
func (st *state) unhealthy(now time.Time, stuckAfter time.Duration) string {
	switch {
	case !st.alive:
		return "the loop does not run"
	case stuckAfter > 0 && !st.running.IsZero() && now.Sub(st.running) > stuckAfter:
		return "a run is stuck: it began " + now.Sub(st.running).Round(time.Second).String() + " ago"
	}
	return ""
}
