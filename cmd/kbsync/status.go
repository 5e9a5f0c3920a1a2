package main

import (
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/pipeline"
)

func newStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show counts, failures and the last runs",
		Long: `Show how many documents and chunks are stored, which documents wait because they failed, the generation that is live and the one
that is being built, and the last runs.`,
		Example: "  kbsync status\n  kbsync status --format json | jq .chunks",
		Args:    cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), nil, func(p *pipeline.Pipeline) error {
				s, err := p.Status(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON(cmd) {
					return a.line(s)
				}
				a.showStatus(s)
				return nil
			})
		}),
	}
}

func (a *app) showStatus(s *pipeline.Status) {
	a.printf("%s, %s", number(s.Documents, "document"), number(s.Chunks, "chunk"))
	if extra := counted("", s.Failed, "failed", s.Skipped, "skipped", s.Pending, "to be done again"); extra != "" {
		a.printf("; %s", extra)
	}
	a.printf("\n")
	for _, name := range slices.Sorted(maps.Keys(s.Sources)) {
		a.printf("  source %s: %s\n", name, number(s.Sources[name], "document"))
	}
	a.printf("sink   %s\nmodel  %s\n", s.Target, s.Model)
	switch {
	case s.Live == "":
		a.printf("nothing is stored yet: run kbsync sync\n")
	case s.Building != "":
		a.printf("generation %s is live, %s is being built\n", s.Live, s.Building)
	default:
		a.printf("generation %s is live\n", s.Live)
	}
	for _, g := range s.Kept {
		a.printf("generation %s is kept: kbsync rollback --to %s\n", g, g)
	}
	for _, f := range s.Failures {
		a.printf("failed (%s): %s: %s: %s\n", f.Stage, f.Source, f.Path, f.Error)
	}
	for _, r := range s.Runs {
		end := "did not end"
		if !r.Ended.IsZero() {
			end = r.Ended.Sub(r.Started).Round(time.Millisecond).String()
		}
		a.printf("run %d  %s  %s  %s\n", r.ID, r.Started.Local().Format(time.DateTime), end, plainLine(r.Outcome))
	}
}
