package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/pipeline"
)

func newExport(a *app) *cobra.Command {
	var vectors bool
	var out string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print every chunk as the database holds it",
		Long: `Print every chunk of this pipeline as the database holds it, read back, one a line, sorted by chunk_id. With
--vectors each has its vector.`,
		Example: `  kbsync export --format jsonl > chunks.jsonl
  kbsync export --vectors -o chunks.jsonl`,
		Args: cobra.NoArgs,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), nil, func(p *pipeline.Pipeline) error {
				if out == "" {
					return exportTo(cmd.Context(), p, a.out, vectors)
				}
				return writeFile(out, func(w io.Writer) error { return exportTo(cmd.Context(), p, w, vectors) })
			})
		}),
	}
	cmd.Flags().BoolVar(&vectors, "vectors", false, "with the vectors")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE`, which appears when it is complete")
	formats(cmd, "jsonl: one chunk a line", "jsonl", "json")
	return cmd
}

func exportTo(ctx context.Context, p *pipeline.Pipeline, w io.Writer, vectors bool) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for pt, err := range p.Export(ctx, vectors) {
		if err != nil {
			return err
		}
		if err := enc.Encode(&pt); err != nil {
			return err
		}
	}
	return b.Flush()
}
