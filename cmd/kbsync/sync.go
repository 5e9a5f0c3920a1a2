package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/pipeline"
)

// runFlags are the flags that plan and sync share.
type runFlags struct {
	allowDelete, allowRebuild, checksum bool
}

func (r *runFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&r.allowDelete, "allow-delete", false, "delete also where a source lost more than sync.max_delete, or lists nothing")
	f.BoolVar(&r.allowRebuild, "allow-rebuild", false, "build a new collection where the model or another part of its shape changed")
	f.BoolVar(&r.checksum, "checksum", false, "read every document, whatever its modification time says")
}

func (r *runFlags) options(command string) pipeline.SyncOptions {
	return pipeline.SyncOptions{AllowDelete: r.allowDelete, AllowRebuild: r.allowRebuild, Checksum: r.checksum, Command: command}
}

func newSync(a *app) *cobra.Command {
	var flags runFlags
	var plan string
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Make the database hold exactly the chunks of the documents",
		Long: `Make the database hold exactly the chunks of the documents that the sources list now.

Unchanged documents are not opened, unchanged chunks are not embedded again, and chunks of documents that vanished
are deleted after a complete listing. A source that suddenly lists nothing, or lost more documents than
sync.max_delete, deletes nothing: look first, then run with --allow-delete.

An interrupt finishes what was begun and ends; the second one ends at once. Whatever ends a run, the next one
settles what it left.

Exit code: 0 done, 1 some documents failed, 2 configuration, 3 a guard refused, 4 a service is unreachable.`,
		Example: `  kbsync sync
  kbsync sync --format json
  kbsync plan -o plan.json && kbsync sync --plan plan.json`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return a.sync(cmd, flags.options("kbsync sync"), plan)
		}),
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&plan, "plan", "", "apply exactly this plan (`FILE` of kbsync plan -o), or refuse")
	_ = cmd.MarkFlagFilename("plan", "json")
	return cmd
}

func (a *app) sync(cmd *cobra.Command, opts pipeline.SyncOptions, planFile string) error {
	opts.Drain = a.draining()
	progress, stop := a.progress()
	defer stop()
	return a.with(cmd.Context(), progress, func(p *pipeline.Pipeline) error {
		if planFile != "" {
			var err error
			if opts.Plan, err = confirm(cmd.Context(), p, planFile, opts); err != nil {
				return err
			}
		}
		result, err := p.Sync(cmd.Context(), opts)
		stop()
		a.failures(result.Errors)
		if asJSON(cmd) {
			if jerr := a.line(result); err == nil {
				err = jerr
			}
			return err
		}
		if err == nil || result.Documents != (pipeline.Result{}).Documents {
			a.summary(&result)
		}
		return err
	})
}

// confirm reads a plan and compares it with what would be done now.
func confirm(ctx context.Context, p *pipeline.Pipeline, file string, opts pipeline.SyncOptions) (*pipeline.Plan, error) {
	was, err := pipeline.ReadPlan(file)
	if err != nil {
		return nil, err
	}
	is, err := p.Plan(ctx, opts)
	if err != nil {
		return nil, err
	}
	if how := was.Differs(is); how != "" {
		return nil, &pipeline.GuardError{Reason: fmt.Sprintf("%s is out of date: %s; nothing was done. Make a new plan with kbsync plan -o %s", file, how, file)}
	}
	return was, nil
}

// failures names what failed on stderr.
func (a *app) failures(rows []pipeline.ErrorRow) {
	for _, e := range rows {
		where := e.Path
		switch {
		case where == "" && e.Stage == "list":
			continue // a source: the run's own error says it
		case where == "" && e.Source != "":
			where = "source " + e.Source
		case e.Source != "":
			where = e.Source + ": " + where
		}
		a.note("failed (%s): %s: %s", e.Stage, where, strings.TrimSpace(e.Error))
	}
}

func (a *app) summary(r *pipeline.Result) {
	if a.quiet {
		return
	}
	d, c, e := r.Documents, r.Chunks, r.Embeddings
	a.printf("documents   %s\n", counted("nothing to do",
		d.Added, "added", d.Updated, "updated", d.Moved, "moved", d.Deleted, "deleted", d.Unchanged, "unchanged", d.Skipped, "skipped", d.Failed, "failed"))
	a.printf("chunks      %s\n", counted("none", c.Upserted, "written", c.Repositioned, "repositioned", c.Deleted, "deleted", c.Unchanged, "unchanged", c.LeftOut, "left out as copies"))
	a.printf("embeddings  %s\n", counted("none needed", e.Computed, "computed", e.Cached, "from the store"))
	if r.LLM != nil {
		a.printf("answers     %s\n", asked(r.LLM))
	}
	a.printf("read %s in %s\n", size(r.BytesRead), time.Duration(r.ElapsedMS)*time.Millisecond)
	if d.Skipped > 0 && a.verbose > 0 {
		for _, s := range r.Skips {
			a.printf("skipped     %s: %s: %s\n", s.Source, s.Path, s.Error)
		}
	}
}

// asked is what was asked of the language model, in a line.
func asked(l *pipeline.AskedLLM) string {
	line := counted("none needed", l.Calls, "asked for", l.Kept, "from the store")
	if l.Calls > 0 {
		line += ", " + number(l.Tokens, "token")
		if l.Cost > 0 {
			line += fmt.Sprintf(", %.4f %s", l.Cost, l.Currency)
		}
	}
	if l.Waiting > 0 {
		line += fmt.Sprintf("; %s wait for the next run", number(l.Waiting, "document"))
	}
	return line
}

// counted joins the counts that are not zero, as in "3 added, 1 deleted".
func counted(none string, pairs ...any) string {
	var parts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if n, _ := pairs[i].(int); n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, pairs[i+1]))
		}
	}
	if len(parts) == 0 {
		return none
	}
	return strings.Join(parts, ", ")
}

// size is a number of bytes for people.
func size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), ""
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if f /= 1000; f < 999.5 {
			unit = u
			break
		}
		unit = u
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}

// number is "1 chunk" or "2 chunks".
func number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
