package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/pipeline"
)

func newVerify(a *app) *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare the database with what kbsync wrote",
		Long: `Read ids and texts back from the database, hash them again and compare them with the ledger: chunks that are missing, orphaned
or differ. Exit code 1 if there are any. With --repair, orphans are deleted and the rest is written again by a sync.`,
		Example: `  kbsync verify
  kbsync verify --repair`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error { return a.verify(cmd, repair) }),
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "put right what differs")
	return cmd
}

func (a *app) verify(cmd *cobra.Command, repair bool) error {
	progress, stop := a.progress()
	defer stop()
	return a.with(cmd.Context(), progress, func(p *pipeline.Pipeline) error {
		r, err := p.Verify(cmd.Context(), repair)
		stop()
		var drift *pipeline.DriftError
		if r == nil || err != nil && !errors.As(err, &drift) && r.Checked == 0 {
			return err
		}
		if asJSON(cmd) {
			return errors.Join(err, a.line(r))
		}
		for _, d := range r.Drifts {
			a.printf("%-10s %s  %s: %s  %s\n", d.Kind, d.ChunkID, d.Source, d.Path, d.Detail)
		}
		a.printf("%s checked: %s\n", number(r.Checked, "chunk"), counted("all as they should be",
			r.Missing, "missing", r.Orphan, "orphaned", r.Drifted, "drifted", r.Unfinished, "unfinished"))
		if r.Foreign > 0 {
			a.printf("%s of others left alone\n", number(r.Foreign, "chunk"))
		}
		if r.OrphansUnchecked {
			a.printf("orphans were not looked for: this database cannot list what it holds\n")
		}
		if r.Repaired {
			a.printf("repaired\n")
		}
		return err
	})
}
