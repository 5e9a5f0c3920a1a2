package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
)

func newQuery(a *app) *cobra.Command {
	var opts pipeline.QueryOptions
	var filters []string
	mode := newChoice("", "dense", "lexical", "hybrid")
	fusion := newChoice("relative", "relative", "rrf")
	expand := newChoice(pipeline.ExpandAuto, pipeline.ExpandAuto, pipeline.ExpandParent, pipeline.ExpandNeighbours, pipeline.ExpandWindow, pipeline.ExpandNone)
	cmd := &cobra.Command{
		Use:   "query TEXT",
		Short: "Ask the database",
		Long: `Ask the database. By default a hybrid query where the database can, else a dense one.

--filter key=value keeps chunks whose source, path or metadata has that value. The same key again means "any of", several
keys mean "all of". A value that reads as a number or as true or false matches both that and its text; put it into
double quotes to match the text alone.`,
		Example: `  kbsync query "How do I reset my password?"
  kbsync query 如何重置密码 -k 3
  kbsync query refund --filter source=docs --filter language=go --filter language=python
  kbsync query "release 3" --mode lexical --format json`,
		Args: cobra.ExactArgs(1),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			opts.Text, opts.Mode, opts.Fusion, opts.Expand = args[0], connector.SearchMode(mode.value), connector.Fusion(fusion.value), expand.value
			var err error
			if opts.Filter, err = parseFilters(filters); err != nil {
				return err
			}
			if opts.K < 1 {
				return usagef("-k is %d: it must be 1 or more", opts.K)
			}
			return a.query(cmd, opts)
		}),
	}
	f := cmd.Flags()
	f.IntVarP(&opts.K, "top", "k", 5, "how many answers")
	f.Var(mode, "mode", "dense, lexical or hybrid")
	f.StringArrayVar(&filters, "filter", nil, "`key=value` that must hold; repeat it for more")
	f.Var(expand, "expand", "what stands for a hit: its parent, its window, or its neighbours too; auto takes parents and windows where there are any")
	f.BoolVar(&opts.Exact, "exact", false, "compare with every vector where the database can, and not by its index")
	f.Var(fusion, "fusion", "how a hybrid query joins its two rankings")
	_ = cmd.RegisterFlagCompletionFunc("mode", fixed(mode.allowed...))
	_ = cmd.RegisterFlagCompletionFunc("expand", fixed(expand.allowed...))
	_ = cmd.RegisterFlagCompletionFunc("fusion", fixed(fusion.allowed...))
	return cmd
}

func (a *app) query(cmd *cobra.Command, opts pipeline.QueryOptions) error {
	return a.with(cmd.Context(), nil, func(p *pipeline.Pipeline) error {
		hits, err := p.Query(cmd.Context(), opts)
		if err != nil {
			return err
		}
		if asJSON(cmd) {
			return a.line(struct {
				Hits []pipeline.Answer `json:"hits"`
			}{hits})
		}
		a.answers(hits, opts.Text)
		return nil
	})
}

// snippetRunes is how much of an answer is shown.
const snippetRunes = 300

func (a *app) answers(hits []pipeline.Answer, question string) {
	if len(hits) == 0 {
		a.printf("no answer\n")
		return
	}
	p := painter{a.colored()}
	words := terms(question)
	for i, h := range hits {
		place := h.Path
		if h.LineStart > 0 {
			place += ":" + strconv.Itoa(h.LineStart)
		}
		if h.Page > 0 {
			place += " page " + strconv.Itoa(h.Page)
		}
		a.printf("%d. %s", i+1, p.bold(place))
		if h.Section != "" {
			a.printf("  %s", h.Section)
		}
		a.printf("  %s\n", p.dim("("+h.Source+", "+strconv.FormatFloat(h.Score, 'f', 3, 64)+")"))
		a.printf("   %s\n", snippet(h.Content, words, snippetRunes, p))
	}
}

// parseFilters turns key=value pairs into conditions: the same key again adds a value.
func parseFilters(pairs []string) (connector.Filter, error) {
	var filter connector.Filter
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef("--filter %q: expected key=value", pair)
		}
		at := slices.IndexFunc(filter, func(c connector.Condition) bool { return c.Field == key })
		if at < 0 {
			at = len(filter)
			filter = append(filter, connector.Condition{Field: key})
		}
		filter[at].Values = append(filter[at].Values, filterValues(value)...)
	}
	return filter, nil
}

// filterValues are the values that a word of the command line may mean.
func filterValues(s string) []any {
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return []any{s}
	}
	switch v := v.(type) {
	case string:
		return []any{v}
	case bool:
		return []any{v, s}
	case float64:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return []any{n, s}
		}
		return []any{v, s}
	}
	return []any{s}
}
