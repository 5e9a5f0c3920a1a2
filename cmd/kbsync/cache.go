package main

import (
	"context"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/pipeline"
)

func newCache(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look after the stored texts and vectors",
		Long: `Look after the store of texts and vectors, from which a moved or repeated text takes its vector without being
embedded again.`,
		Example: "  kbsync cache stats",
		RunE:    group,
	}
	cmd.AddCommand(newCacheStats(a), newCachePrune(a), newCacheExport(a), newCacheImport(a))
	return cmd
}

// store calls fn with the configured pipeline's store.
func (a *app) store(cmd *cobra.Command, fn func(context.Context, *pipeline.Store) error) error {
	file, err := a.load()
	if err != nil {
		return err
	}
	return fn(cmd.Context(), pipeline.OpenStore(file))
}

func newCacheStats(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "stats",
		Short:   "Count what is stored",
		Example: "  kbsync cache stats --format json",
		Args:    cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return a.store(cmd, func(ctx context.Context, s *pipeline.Store) error {
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
				return nil
			})
		}),
	}
}

func newCachePrune(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "prune",
		Short:   "Remove texts that no chunk uses, and their vectors",
		Example: "  kbsync cache prune",
		Args:    cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return a.store(cmd, func(ctx context.Context, s *pipeline.Store) error {
				n, err := s.Prune(ctx)
				if err != nil {
					return err
				}
				return a.total(cmd, "removed", n)
			})
		}),
	}
}

// total prints one number of texts.
func (a *app) total(cmd *cobra.Command, what string, n int) error {
	if asJSON(cmd) {
		return a.line(map[string]int{what: n})
	}
	a.printf("%s %s\n", what, number(n, "text"))
	return nil
}

func newCacheExport(a *app) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "Print the stored texts and vectors, one a line",
		Example: "  kbsync cache export -o store.jsonl",
		Args:    cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return a.store(cmd, func(ctx context.Context, s *pipeline.Store) error {
				if out == "" {
					_, err := s.Export(ctx, a.out)
					return err
				}
				return writeFile(out, func(w io.Writer) error {
					_, err := s.Export(ctx, w)
					return err
				})
			})
		}),
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE`, which appears when it is complete")
	formats(cmd, "jsonl: one text a line", "jsonl", "json")
	return cmd
}

func newCacheImport(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "import FILE",
		Short:   "Take over texts and vectors that export printed; - is standard input",
		Example: "  kbsync cache import store.jsonl\n  kbsync cache export -c old.yaml | kbsync cache import -",
		Args:    cobra.ExactArgs(1),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			return a.store(cmd, func(ctx context.Context, s *pipeline.Store) error {
				in := a.in
				if args[0] != "-" {
					f, err := os.Open(args[0])
					if err != nil {
						return usagef("%w", err)
					}
					defer func() { _ = f.Close() }()
					in = f
				}
				n, err := s.Import(ctx, in)
				if err != nil {
					return err
				}
				return a.total(cmd, "imported", n)
			})
		}),
	}
}
