package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector/pipeline"
)

func newRelated(a *app) *cobra.Command {
	var opts pipeline.RelatedOptions
	cmd := &cobra.Command{
		Use:   "related CHUNK_ID|TEXT",
		Short: "Find chunks of other documents that share keywords",
		Long: `Find chunks that share keywords with a chunk of the database, in other documents than its own, or with a text. A keyword
counts the more, the fewer chunks have it.

The configuration must ask for keywords (keywords: { top: 5 }), and a sync must have found them. Nothing is embedded.`,
		Example: `  kbsync related 1f0c7a52-6f0e-5d0c-9b9e-2f8f5c1d7e11
  kbsync related "vector databases and their indexes" -k 10
  kbsync related 年假如何结转 --format json`,
		Args: cobra.ExactArgs(1),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			opts.Text = args[0]
			if opts.K < 1 {
				return usagef("-k is %d: it must be 1 or more", opts.K)
			}
			return a.related(cmd, opts)
		}),
	}
	cmd.Flags().IntVarP(&opts.K, "top", "k", 5, "how many chunks")
	return cmd
}

func (a *app) related(cmd *cobra.Command, opts pipeline.RelatedOptions) error {
	return a.with(cmd.Context(), nil, func(p *pipeline.Pipeline) error {
		hits, err := p.Related(cmd.Context(), opts)
		if err != nil {
			return err
		}
		if asJSON(cmd) {
			return a.line(struct {
				Hits []pipeline.RelatedAnswer `json:"hits"`
			}{hits})
		}
		if len(hits) == 0 {
			a.printf("no chunk shares a keyword\n")
			return nil
		}
		paint := painter{a.colored()}
		for i, h := range hits {
			place := h.Path
			if h.LineStart > 0 {
				place += ":" + strconv.Itoa(h.LineStart)
			}
			a.printf("%d. %s", i+1, paint.bold(place))
			if h.Section != "" {
				a.printf("  %s", h.Section)
			}
			a.printf("  %s\n", paint.dim("("+h.Source+", "+strconv.FormatFloat(h.Score, 'f', 3, 64)+": "+strings.Join(h.Shared, ", ")+")"))
			a.printf("   %s\n", snippet(h.Content, h.Shared, snippetRunes, paint))
		}
		return nil
	})
}
