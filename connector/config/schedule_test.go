package config

import (
	"strings"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
)

func TestParseSchedule(t *testing.T) {
	for _, good := range []string{"@every 15m", " @every 1h30m ", "@daily", "*/15 * * * *", "0 3 * * 1-5", "CRON_TZ=Europe/Berlin 0 3 * * *", "CRON_TZ=UTC  @hourly", "TZ=Asia/Shanghai 30 2 * * *"} {
		s, err := ParseSchedule(good)
		if err != nil {
			t.Errorf("%q: %v", good, err)
			continue
		}
		if now := time.Now(); !s.Next(now).After(now) {
			t.Errorf("%q: the next time is not later", good)
		}
	}
	for _, bad := range []string{"", " ", "15m", "@every", "@every 15", "@every 100ms", "@every -5m", "@sometimes", "* * * *", "0 * * * * *", "61 * * * *",
		"0 0 30 2 *", "CRON_TZ=UTC", "CRON_TZ=", "TZ=UTC TZ=UTC 0 3 * * *", "CRON_TZ=Nowhere/Land 0 3 * * *"} {
		if _, err := ParseSchedule(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestSyncTimes: what is wrong with the keys that say when a run begins names the key.
func TestSyncTimes(t *testing.T) {
	for text, want := range map[string]string{
		"schedule: every hour": "kbsync.yaml:2:19: sync.schedule: expected",
		"jitter: -1s":          "sync.jitter: expected a duration",
		"debounce: soon":       "sync.debounce: expected a duration",
		"poll: 10ms":           "sync.poll: expected 1s or more",
	} {
		_, err := Parse("kbsync.yaml", []byte("version: 1\nsync: { "+text+" }\n"), &connector.Registry{}, Options{Partial: true})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	f, err := Parse("kbsync.yaml", []byte("sync: { schedule: \"@every 5m\", jitter: 10s }\n"), &connector.Registry{}, Options{Partial: true})
	if err != nil || f.Sync.Jitter != 10*time.Second || f.Sync.Debounce != time.Second || f.Sync.Poll != 30*time.Second {
		t.Errorf("%+v, %v", f, err)
	}
}
