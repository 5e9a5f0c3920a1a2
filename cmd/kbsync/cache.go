package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/connector/vectorstore"
)

func newCache(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look after the stored texts and vectors",
		Long: `Look after the store of texts and vectors, from which a moved or repeated text takes its vector without being
embedded again: the pipeline's own, or with --shared the one that the configuration names under store, which
several pipelines share and which holds vectors alone.`,
		Example: `  kbsync cache stats
  kbsync cache stats --shared`,
		RunE: group,
	}
	cmd.PersistentFlags().Bool("shared", false, "work on the shared store that the configuration names")
	cmd.AddCommand(newCacheStats(a), newCachePrune(a), newCacheExport(a), newCacheImport(a))
	return cmd
}

// stores calls own with the configured pipeline's store, or shared, with --shared, with the one that it shares.
func (a *app) stores(cmd *cobra.Command, own func(context.Context, *pipeline.Store) error, shared func(context.Context, *pipeline.SharedStore) error) error {
	file, err := a.load()
	if err != nil {
		return err
	}
	if on, _ := cmd.Flags().GetBool("shared"); !on {
		return own(cmd.Context(), pipeline.OpenStore(file))
	}
	s, err := pipeline.OpenSharedStore(file)
	if err != nil {
		return err
	}
	return shared(cmd.Context(), s)
}

func newCacheStats(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Count what is stored",
		Example: `  kbsync cache stats --format json
  kbsync cache stats --shared`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return a.stores(cmd, func(ctx context.Context, s *pipeline.Store) error {
				st, err := s.Stats(ctx)
				if err != nil {
					return err
				}
				if asJSON(cmd) {
					return a.line(st)
				}
				a.printf("%s (%s), %d of them in no chunk\n", number(st.Texts, "text"), size(st.TextBytes), st.Unused)
				for _, model := range slices.Sorted(maps.Keys(st.Vectors)) {
					a.printf("%s of %s\n", number(st.Vectors[model], "vector"), model)
				}
				for _, model := range slices.Sorted(maps.Keys(st.Answers)) {
					a.printf("%s of %s\n", number(st.Answers[model], "answer"), model)
				}
				return nil
			}, func(ctx context.Context, s *pipeline.SharedStore) error {
				st, err := s.Stats(ctx)
				if err != nil {
					return err
				}
				if asJSON(cmd) {
					return a.line(map[string]any{"models": st})
				}
				if len(st) == 0 {
					a.printf("no vectors\n")
				}
				for _, m := range st {
					a.printf("%s of %s (%s), last used %s\n", number(m.Vectors, "vector"), m.Model, size(m.Bytes), m.LastUse.Local().Format(time.DateOnly))
				}
				return nil
			})
		}),
	}
}

func newCachePrune(a *app) *cobra.Command {
	var opts vectorstore.PruneOptions
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove texts that no chunk uses, and their vectors; or those of a model, or of the shared store",
		Long: `Remove texts that no chunk uses, and their vectors.

With --model, remove the vectors of that model (cache stats lists them) and leave the texts: for a model that is no
longer used. Chunks in the database keep theirs; what has to be written again is embedded again. Of a language model
they are its answers: what has to be cut again is asked for again.

With --shared nobody knows what is in use elsewhere: say what is to go, by the time since the last use (true to a
day), by the size that the rest may have (what was used longest ago goes first), or by model. Other processes may
use the store meanwhile.`,
		Example: `  kbsync cache prune
  kbsync cache prune --model lexical/lexical@1#1234567890abcdef
  kbsync cache prune --shared --older-than 90d --dry-run
  kbsync cache prune --shared --max-size 2GiB`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return a.stores(cmd, func(ctx context.Context, s *pipeline.Store) error {
				return a.pruneOwn(ctx, cmd, s, opts)
			}, func(ctx context.Context, s *pipeline.SharedStore) error {
				if opts.Model == "" && opts.OlderThan == 0 && opts.MaxBytes == 0 {
					return usagef("name what is to go: --older-than, --max-size or --model")
				}
				p, err := s.Prune(ctx, opts)
				if err != nil {
					return err
				}
				if asJSON(cmd) {
					return a.line(p)
				}
				a.printf("%s %s (%s)\n", removed(opts.DryRun), number(p.Vectors, "vector"), size(p.Bytes))
				return nil
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&opts.Model, "model", "", "the vectors, or the answers, of the model of this `IDENTITY`")
	f.Var((*ageFlag)(&opts.OlderThan), "older-than", "what was not used for this `TIME`, such as 90d, 12w or 36h (with --shared)")
	f.Var((*sizeFlag)(&opts.MaxBytes), "max-size", "what was used longest ago, until the rest takes no more than `SIZE`, such as 2GiB (with --shared)")
	f.BoolVar(&opts.DryRun, "dry-run", false, "count what would go, and remove nothing")
	return cmd
}

func (a *app) pruneOwn(ctx context.Context, cmd *cobra.Command, s *pipeline.Store, opts vectorstore.PruneOptions) error {
	if opts.OlderThan != 0 || opts.MaxBytes != 0 {
		return usagef("--older-than and --max-size go with --shared: the pipeline's own store knows what its chunks use")
	}
	var n int
	var err error
	noun := "text"
	if opts.Model != "" {
		noun = "vector"
		n, err = s.PruneModel(ctx, opts.Model, opts.DryRun)
	} else {
		n, err = s.Prune(ctx, opts.DryRun)
	}
	if err != nil {
		return err
	}
	if asJSON(cmd) {
		return a.line(map[string]int{"removed": n})
	}
	a.printf("%s %s\n", removed(opts.DryRun), number(n, noun))
	return nil
}

func removed(dry bool) string {
	if dry {
		return "would remove"
	}
	return "removed"
}

// ageFlag is a length of time that may be written in days or weeks.
type ageFlag time.Duration

// String is the time as it may be written; empty for none.
func (f *ageFlag) String() string {
	if *f == 0 {
		return ""
	}
	return time.Duration(*f).String()
}

// Set reads 90d, 12w, or what Go reads.
func (f *ageFlag) Set(s string) error {
	unit, day := time.Duration(0), 24*time.Hour
	switch {
	case strings.HasSuffix(s, "d"):
		unit = day
	case strings.HasSuffix(s, "w"):
		unit = 7 * day
	}
	var d time.Duration
	var err error
	if unit != 0 {
		var n uint64
		if n, err = strconv.ParseUint(s[:len(s)-1], 10, 15); err == nil {
			d = time.Duration(n) * unit
		}
	} else {
		d, err = time.ParseDuration(s)
	}
	if err != nil || d <= 0 {
		return errors.New("expected a time such as 90d, 12w or 36h")
	}
	*f = ageFlag(d)
	return nil
}

// Type names the flag's values.
func (f *ageFlag) Type() string { return "time" }

// sizeFlag is a number of bytes.
type sizeFlag int64

// String is the size as it may be written; empty for none.
func (f *sizeFlag) String() string {
	if *f == 0 {
		return ""
	}
	return config.FormatSize(int64(*f))
}

// Set reads 512, 10kB, 2GiB.
func (f *sizeFlag) Set(s string) error {
	n, err := config.ParseSize(s)
	if err == nil && n == 0 {
		err = errors.New("expected more than 0")
	}
	*f = sizeFlag(n)
	return err
}

// Type names the flag's values.
func (f *sizeFlag) Type() string { return "size" }

func newCacheExport(a *app) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the stored texts and vectors, one a line",
		Long: `Print the stored texts and vectors, one a line, as cache import takes them. The lines of the shared store have no
text.`,
		Example: `  kbsync cache export -o store.jsonl
  kbsync cache export | kbsync cache import --shared -`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			to := func(export func(w io.Writer) (int, error)) error {
				if out == "" {
					_, err := export(a.out)
					return err
				}
				return writeFile(out, func(w io.Writer) error {
					_, err := export(w)
					return err
				})
			}
			return a.stores(cmd, func(ctx context.Context, s *pipeline.Store) error {
				return to(func(w io.Writer) (int, error) { return s.Export(ctx, w) })
			}, func(ctx context.Context, s *pipeline.SharedStore) error {
				return to(func(w io.Writer) (int, error) { return s.Export(ctx, w) })
			})
		}),
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE`, which appears when it is complete")
	formats(cmd, "jsonl: one text a line", "jsonl", "json")
	return cmd
}

func newCacheImport(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Take over texts and vectors that export printed; - is standard input",
		Long: `Take over texts and vectors that export printed; - is standard input. What is stored already stays.

A line that is damaged, whose hash is not that of its text, or whose vector cannot be one of its model is named and
left out; the others are taken over, and the exit code is 1. With --shared the texts are compared with their hashes
and not kept.`,
		Example: `  kbsync cache import store.jsonl
  kbsync cache export -c old.yaml | kbsync cache import -
  kbsync cache export | kbsync cache import --shared -`,
		Args: cobra.ExactArgs(1),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			in, name := a.in, "standard input"
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return usagef("%w", err)
				}
				defer func() { _ = f.Close() }()
				in, name = f, args[0]
			}
			return a.stores(cmd, func(ctx context.Context, s *pipeline.Store) error {
				report, err := s.Import(ctx, name, in)
				return a.imported(cmd, report, "text", err)
			}, func(ctx context.Context, s *pipeline.SharedStore) error {
				report, err := s.Import(ctx, name, in)
				return a.imported(cmd, report, "vector", err)
			})
		}),
	}
}

// imported prints the report of an import, also of one that failed on the way.
func (a *app) imported(cmd *cobra.Command, report pipeline.Imported, noun string, err error) error {
	for _, line := range report.Errors {
		a.note("%s", line)
	}
	if asJSON(cmd) {
		return errors.Join(err, a.line(report))
	}
	line := fmt.Sprintf("imported %s", number(report.Imported, noun))
	if report.Skipped > 0 {
		line += fmt.Sprintf(", left out %s without a vector", number(report.Skipped, "text"))
	}
	a.printf("%s\n", line)
	return err
}
