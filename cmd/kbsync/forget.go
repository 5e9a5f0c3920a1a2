package main

import (
	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/pipeline"
)

func newForget(a *app) *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use:   "forget PATH | --source NAME",
		Short: "Remove documents from database and ledger",
		Long: `Remove documents from database and ledger: the one at a path or all those below it (the path inside its source), those of a
source, or with both, those at or below the path in that source. What the configuration still names comes back with the next sync.`,
		Example: `  kbsync forget drafts/old.md
  kbsync forget drafts --source docs
  kbsync forget --source contracts`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			return a.with(cmd.Context(), nil, func(p *pipeline.Pipeline) error {
				f, err := p.Forget(cmd.Context(), source, path)
				if err != nil {
					return err
				}
				if asJSON(cmd) {
					return a.line(f)
				}
				a.printf("removed %s, %s\n", number(f.Documents, "document"), number(f.Chunks, "chunk"))
				return nil
			})
		}),
	}
	cmd.Flags().StringVar(&source, "source", "", "`NAME` of the source")
	_ = cmd.RegisterFlagCompletionFunc("source", a.completeSources)
	return cmd
}
