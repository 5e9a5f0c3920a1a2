package service

import (
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector/config"
)

// TestClockChanges: what falls into the hour that is left out runs right after the change, what falls into the one that is repeated
// runs once; lines for every hour go on as before.
func TestClockChanges(t *testing.T) {
	const form = "2006-01-02 15:04 MST"
	tests := []struct {
		line, from, want string
	}{
		// New York: 2026-03-08 02:00 EST becomes 03:00 EDT, 2026-11-01 02:00 EDT becomes 01:00 EST.
		{"CRON_TZ=America/New_York 30 2 * * *", "2026-03-07T00:00:00-05:00", "2026-03-07 02:30 EST, 2026-03-08 03:00 EDT, 2026-03-09 02:30 EDT"},
		{"CRON_TZ=America/New_York 30 2 * * *", "2026-03-08T03:00:00-04:00", "2026-03-09 02:30 EDT"},
		{"CRON_TZ=America/New_York 0 3 * * *", "2026-03-07T12:00:00-05:00", "2026-03-08 03:00 EDT, 2026-03-09 03:00 EDT"},
		{"CRON_TZ=America/New_York 0,30 2 * * *", "2026-03-07T12:00:00-05:00", "2026-03-08 03:00 EDT, 2026-03-09 02:00 EDT"},
		{"CRON_TZ=America/New_York 30 2 * * 1", "2026-03-07T12:00:00-05:00", "2026-03-09 02:30 EDT"},
		{"CRON_TZ=America/New_York 30 1 * * *", "2026-10-31T12:00:00-04:00", "2026-11-01 01:30 EDT, 2026-11-02 01:30 EST"},
		{"CRON_TZ=America/New_York 30 * * * *", "2026-11-01T00:45:00-04:00", "2026-11-01 01:30 EDT, 2026-11-01 01:30 EST, 2026-11-01 02:30 EST"},
		{"CRON_TZ=America/New_York 30 * * * *", "2026-03-08T01:00:00-05:00", "2026-03-08 01:30 EST, 2026-03-08 03:30 EDT"},
		// Lord Howe's clock is changed by half an hour, at 02:00.
		{"CRON_TZ=Australia/Lord_Howe 15 2 * * *", "2026-10-03T12:00:00+10:30", "2026-10-04 02:30 +11, 2026-10-05 02:15 +11"},
		{"CRON_TZ=Asia/Shanghai 0 3 * * *", "2026-03-07T00:00:00Z", "2026-03-08 03:00 CST, 2026-03-09 03:00 CST"},
		{"CRON_TZ=UTC 0 12 29 2 *", "2026-03-07T00:00:00Z", "2028-02-29 12:00 UTC"},
	}
	for _, test := range tests {
		tt, err := newTimetable(&config.Sync{Schedule: test.line}, 0)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, test.from)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(strings.TrimPrefix(strings.Fields(test.line)[0], "CRON_TZ="))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range strings.Count(test.want, ",") + 1 {
			at = tt.next(at)
			got = append(got, at.In(zone).Format(form))
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%s from %s:\n got %s\nwant %s", test.line, test.from, strings.Join(got, ", "), test.want)
		}
	}
}

func TestPass(t *testing.T) {
	tt, err := newTimetable(&config.Sync{Schedule: "0 0 1 1 *"}, time.Minute) // the flag comes first
	if err != nil || tt.String() != "@every 1m0s" {
		t.Fatal(tt, err)
	}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		now    time.Duration
		passed int
		next   time.Duration
	}{{-1, 0, 0}, {0, 1, time.Minute}, {59 * time.Second, 1, time.Minute}, {5 * time.Minute, 6, 6 * time.Minute}} {
		passed, next := tt.pass(begin, begin.Add(test.now))
		if passed != test.passed || !next.Equal(begin.Add(test.next)) {
			t.Errorf("%s: %d passed, next %s", test.now, passed, next)
		}
	}
	// A service that was down for years does not count each second.
	if passed, next := tt.pass(begin, begin.AddDate(10, 0, 0)); passed != maxPassed || next.Before(begin.AddDate(10, 0, 0)) {
		t.Errorf("%d passed, next %s", passed, next)
	}
}
