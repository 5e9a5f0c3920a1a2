// Package sinktest is the conformance suite of sinks ([Run]) and the reference sink that engine tests use ([Memory]).
//
// A sink passes if it keeps the promises of [connector.Sink] and [connector.Collection]; what it cannot do by its own
// Capabilities is checked to be refused. The suite is proved by its own tests: for each rule there is a broken sink
// that it must catch.
package sinktest

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kbsync/kbsync/connector"
)

// Options adapt the suite to a sink.
type Options struct {
	// Distance of the collections that are made; default "cosine".
	Distance string
	// Dimensions of the vectors; default 16, at least 8.
	Dimensions int
	// ScanPoints is how many points the paging test stores; default 2,600.
	ScanPoints int
	// Tolerance of vector components and scores; default 1e-5.
	Tolerance float64
	// Reopen opens the place of the sink that was closed last once more; without it, durability is not checked.
	Reopen func(t *testing.T) connector.Sink
	// SafeIntegers says that whole numbers above 2^53 are beyond the sink, which keeps all numbers as floats.
	SafeIntegers bool
	// LooseTies says that the sink chooses freely which of several points with equal scores are among the first k.
	LooseTies bool
	// Ignore are goroutines of client libraries that outlive Close.
	Ignore []goleak.Option
}

func (o Options) withDefaults() Options {
	if o.Distance == "" {
		o.Distance = "cosine"
	}
	if o.Dimensions == 0 {
		o.Dimensions = 16
	}
	if o.ScanPoints == 0 {
		o.ScanPoints = 2600
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-5
	}
	return o
}

// Run checks the sink that open gives. Each call of open must give a sink of an empty place of its own; Run closes it.
func Run(t *testing.T, open func(t *testing.T) connector.Sink, opts Options) {
	t.Helper()
	opts = opts.withDefaults()
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			s := open(t)
			check(t.Context(), t, r, s, opts, func() connector.Sink { return opts.Reopen(t) })
			goleak.VerifyNone(t, append(opts.Ignore, before)...)
		})
	}
}

// rule is one promise.
type rule struct {
	name  string
	check func(*env)
}

// reporter is what a rule needs of testing.T; the suite's own tests record failures through it.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// env is what a rule works with.
type env struct {
	reporter
	ctx    context.Context //nolint:containedctx // lives as long as the rule
	sink   connector.Sink
	caps   connector.SinkCapabilities
	opts   Options
	reopen func() connector.Sink
}

func check(ctx context.Context, t reporter, r rule, s connector.Sink, opts Options, reopen func() connector.Sink) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	e := &env{reporter: t, ctx: ctx, sink: s, caps: s.Capabilities(), opts: opts, reopen: reopen}
	if opts.Reopen == nil {
		e.reopen = nil
	}
	defer func() {
		if err := e.sink.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	r.check(e)
}

func rules() []rule {
	return []rule{
		{"empty", empty}, {"generations", generations}, {"conflict", conflict}, {"marker", marker}, {"stamp", stamps}, {"drop", drop},
		{"round trip", roundTrip}, {"numbers", numbers}, {"texts", texts}, {"hostile bytes", hostileBytes}, {"isolation", isolation}, {"replace", replace},
		{"store only", storeOnly}, {"partial failure", partialFailure}, {"delete", remove}, {"fetch", fetch}, {"scan", scan},
		{"payload", payload}, {"dense", dense}, {"ties", ties}, {"lexical", lexical}, {"hostile questions", hostileQuestions},
		{"hybrid", hybrid}, {"filters", filters}, {"modes", modes}, {"concurrency", concurrency}, {"cancel", cancelled},
		{"durability", durability},
	}
}
