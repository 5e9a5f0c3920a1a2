package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/pipeline"
)

func newPlan(a *app) *cobra.Command {
	var flags runFlags
	var out string
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what sync would do",
		Long: `Show what sync would do, by source and document: add, update, move, delete, skip; chunks, tokens, embedding calls saved
by the store, and the price where the model's price is configured.

What changed is read and cut; nothing is embedded and the database is not changed. With -o the plan is written to a
file, and "sync --plan FILE" applies exactly that or refuses.`,
		Example: `  kbsync plan
  kbsync plan -o plan.json && kbsync sync --plan plan.json
  kbsync plan --format json | jq '.steps[] | select(.action == "delete")'`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return a.plan(cmd, flags.options("kbsync plan"), out)
		}),
	}
	flags.register(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the plan to `FILE`")
	_ = cmd.MarkFlagFilename("output", "json")
	return cmd
}

func (a *app) plan(cmd *cobra.Command, opts pipeline.SyncOptions, out string) error {
	progress, stop := a.progress()
	defer stop()
	return a.with(cmd.Context(), progress, func(p *pipeline.Pipeline) error {
		pl, err := p.Plan(cmd.Context(), opts)
		stop()
		if err != nil {
			return err
		}
		if out != "" {
			if err := writeJSON(out, pl); err != nil {
				return err
			}
		}
		for _, reason := range pl.Refused {
			a.remark("sync would refuse: %s", reason)
		}
		if asJSON(cmd) {
			return a.line(pl)
		}
		a.showPlan(pl)
		if out != "" {
			a.printf("\nwritten to %s: kbsync sync --plan %s applies it\n", out, out)
		}
		return nil
	})
}

var planActions = [...]pipeline.Action{
	pipeline.ActionAdd, pipeline.ActionUpdate, pipeline.ActionMove, pipeline.ActionDelete, pipeline.ActionSkip, pipeline.ActionFail,
}

func (a *app) showPlan(pl *pipeline.Plan) {
	for _, s := range pl.Steps {
		line := fmt.Sprintf("%-6s  %s: %s", s.Action, s.Source, s.Path)
		switch s.Action {
		case pipeline.ActionAdd, pipeline.ActionUpdate, pipeline.ActionMove:
			if s.Calls == 0 {
				line += fmt.Sprintf("  (%s, %s, %d to embed, %d from the store)", number(s.Chunks, "chunk"), number(s.Tokens, "token"), s.Embeddings, s.Cached)
			}
		case pipeline.ActionDelete:
			line += fmt.Sprintf("  (%s)", number(s.Chunks, "chunk"))
		}
		if s.Reason != "" {
			line += "  " + s.Reason
		}
		a.printf("%s\n", line)
	}
	if len(pl.Steps) > 0 {
		a.printf("\n")
	}
	a.planTable(pl)
	for _, f := range pl.Findings {
		a.printf("sink: %s: %s in %s, first in %s\n", f.Field, f.Treatment, number(f.Count, "chunk"), f.Where)
	}
	if pl.Rebuild {
		a.printf("rebuild: a new collection is built beside the live one, which is replaced when it is complete\n")
	}
	a.printf("keep %s; %s, %s; %d to embed, %d from the store",
		number(pl.Keep, "document"), number(pl.Chunks, "chunk"), number(pl.Tokens, "token"), pl.Embeddings, pl.Cached)
	if pl.Calls > 0 {
		a.printf("; up to %d calls of the language model, and what comes of them", pl.Calls)
	}
	if pl.Price > 0 {
		a.printf("; about %.4f %s", pl.Price, pl.Currency)
	}
	a.printf("\n")
}

// planTable counts the actions by source.
func (a *app) planTable(pl *pipeline.Plan) {
	var names []string
	counts := map[string]map[pipeline.Action]int{}
	for _, s := range pl.Steps {
		if counts[s.Source] == nil {
			counts[s.Source] = map[pipeline.Action]int{}
			names = append(names, s.Source)
		}
		counts[s.Source][s.Action]++
	}
	if len(names) == 0 {
		return
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(w, "source\t")
	for _, action := range planActions {
		_, _ = fmt.Fprintf(w, "%s\t", action)
	}
	for _, name := range names {
		_, _ = fmt.Fprintf(w, "\n%s\t", name)
		for _, action := range planActions {
			_, _ = fmt.Fprintf(w, "%d\t", counts[name][action])
		}
	}
	_, _ = fmt.Fprintln(w)
	_ = w.Flush()
}
