package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// ParseSchedule reads the value of sync.schedule: "@every 15m", "@daily" and the like, or the five fields of cron, with
// "CRON_TZ=Europe/Berlin " before them where they are not meant in the local time zone.
func ParseSchedule(text string) (cron.Schedule, error) {
	const form = `expected "@every 15m", "@daily", or five fields such as "*/15 * * * *"`
	text = strings.TrimSpace(text)
	zone, rest, hasZone := strings.Cut(text, " ")
	if !strings.HasPrefix(zone, "TZ=") && !strings.HasPrefix(zone, "CRON_TZ=") {
		rest, hasZone = text, false
	}
	rest = strings.TrimSpace(rest)
	if rest == "" || strings.HasPrefix(rest, "TZ=") || strings.HasPrefix(rest, "CRON_TZ=") {
		return nil, errors.New(form) // the parser would panic where nothing follows the zone
	}
	if hasZone {
		text = zone + " " + rest
	}
	if every, ok := strings.CutPrefix(rest, "@every "); ok {
		// The parser makes a second of less than one, and of what is negative.
		if d, err := time.ParseDuration(strings.TrimSpace(every)); err == nil && d < time.Second {
			return nil, fmt.Errorf("@every %s: expected 1s or more", d)
		}
	}
	s, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("%s (%w)", form, err)
	}
	if s.Next(time.Now()).IsZero() {
		return nil, errors.New("there is no such date: it would never run")
	}
	return s, nil
}

// checkSync looks at the keys of the block that say when a run begins.
func (d *decoder) checkSync(f *File, at func(keys ...string) Position) {
	s := &f.Sync
	if s.Schedule != "" {
		if _, err := ParseSchedule(s.Schedule); err != nil {
			d.fail(at("sync", "schedule"), "sync.schedule", "%s", d.vault.mask(err.Error()))
		}
	}
	if s.Poll < time.Second {
		d.fail(at("sync", "poll"), "sync.poll", "expected 1s or more")
	}
}
