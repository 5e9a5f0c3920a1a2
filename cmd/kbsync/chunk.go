package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// chunkFlags are the flags of chunk.
type chunkFlags struct {
	strategy string
	sets     []string
	explain  bool
	report   reportFlags
}

func newChunk(a *app) *cobra.Command {
	var flags chunkFlags
	cmd := &cobra.Command{
		Use:   "chunk PATH…",
		Short: "Cut files and print the chunks",
		Long: `Cut files, or the files of folders, and print the chunks. No network is used and nothing is stored.

Without -c no configuration is read: the built-in rules choose by file type, or --strategy names a strategy and --set its
options. With -c, a path inside one of the configuration's sources takes that source's identity, filters and rules.

--format html writes one self-contained page that colours the chunks over the text. --report tells instead how well the
files were cut: sizes, ends in mid-sentence, and which chunks are worth a look.`,
		Example: `  kbsync chunk README.md
  kbsync chunk docs --format jsonl | jq .token_count
  kbsync chunk guide.md --strategy recursive --set max_tokens=200 --set overlap=20
  kbsync chunk guide.md --format html > chunks.html
  kbsync chunk docs --report --format html > report.html
  kbsync chunk -c kbsync.yaml docs --explain`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			return a.chunk(cmd, args, &flags)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&flags.strategy, "strategy", "", "`NAME` of the strategy: "+strings.Join(a.reg.Strategies.Kinds(), ", "))
	f.StringArrayVar(&flags.sets, "set", nil, "`key=value` of the strategy's options, the value as in YAML; repeat it for more")
	f.BoolVar(&flags.explain, "explain", false, "say which parser, rule and strategy each file gets, and why")
	flags.report.register(cmd)
	formats(cmd, "text, jsonl (one chunk a line) or html (one page)", "text", "jsonl", "json", "html")
	_ = cmd.RegisterFlagCompletionFunc("strategy", fixed(a.reg.Strategies.Kinds()...))
	return cmd
}

// preview opens what parse and chunk need: the configuration where -c names one, nothing but defaults elsewhere.
func (a *app) preview(ctx context.Context, override *config.Rule) (*pipeline.Preview, *config.File, error) {
	var file *config.File
	var err error
	bare := len(a.configs) == 0
	if bare {
		file, err = config.Parse("kbsync", []byte("name: kbsync\n"), a.reg, config.Options{Partial: true})
	} else {
		file, err = a.load()
	}
	if err != nil {
		return nil, nil, err
	}
	if override != nil {
		file.Rules = append([]config.Rule{*override}, file.Rules...)
	}
	v, err := pipeline.OpenPreview(ctx, file, a.reg, bare)
	return v, file, err
}

// chunkPrinter prints one form of the chunks.
type chunkPrinter interface {
	chunk(r *connector.Record) error
	document(f *found, x *pipeline.Explanation, n int) error
	end() error
}

func (a *app) chunk(cmd *cobra.Command, args []string, flags *chunkFlags) error {
	ctx := cmd.Context()
	rule, err := strategyRule(a.reg, flags.strategy, flags.sets)
	if err != nil {
		return err
	}
	v, file, err := a.preview(ctx, rule)
	if err != nil {
		return err
	}
	w, err := newPaths(ctx, a, v, file, args)
	if err != nil {
		return errors.Join(err, v.Close())
	}
	var out chunkPrinter
	switch form := format(cmd); {
	case flags.report.on:
		model := v.Model()
		if out, err = flags.report.printer(a, cmd, &model); err != nil {
			return errors.Join(err, w.Close(), v.Close())
		}
	case form == "html":
		out = &htmlPrinter{ctx: ctx, a: a, v: v}
	case form == "text":
		out = &textPrinter{a: a, p: painter{a.colored()}, explain: newExplainer(ctx, v, flags.explain)}
	default:
		out = &linePrinter{a: a, explain: newExplainer(ctx, v, flags.explain)}
	}
	err = a.cutAll(ctx, v, w, args, out)
	return errors.Join(err, w.Close(), v.Close())
}

// cutAll cuts every document that args name. A document that fails is named, and the rest goes on.
func (a *app) cutAll(ctx context.Context, v *pipeline.Preview, w *paths, args []string, out chunkPrinter) error {
	for _, arg := range args {
		err := w.each(ctx, arg, func(f found) error {
			n := 0
			var printed error
			x, err := v.Chunks(ctx, f.source, f.caps, f.doc, func(r connector.Record) error {
				n++
				printed = out.chunk(&r)
				return printed
			})
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case printed != nil:
				return printed
			case err != nil:
				w.failed++
				a.note("failed: %s: %v", f.doc.Path, err)
				return nil
			case x.Skip != "":
				a.note("skipped: %s: %s", f.doc.Path, x.Skip)
				if f.named {
					w.failed++
				}
			}
			return out.document(&f, x, n)
		})
		if err != nil {
			return err
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	if w.failed > 0 {
		return failedFiles(w.failed)
	}
	return nil
}

// failedFiles says that files were not read; each was named.
func failedFiles(n int) error {
	if n == 1 {
		return errors.New("1 file could not be used")
	}
	return fmt.Errorf("%d files could not be used", n)
}

// linePrinter prints JSON Lines.
type linePrinter struct {
	a       *app
	explain *explainer
}

func (l *linePrinter) chunk(r *connector.Record) error { return l.a.line(r) }

func (l *linePrinter) document(f *found, x *pipeline.Explanation, n int) error {
	if l.explain == nil {
		return nil
	}
	object, err := l.explain.object(f, x, n)
	if err != nil {
		return err
	}
	return l.a.line(object)
}

func (l *linePrinter) end() error { return nil }

// textPrinter prints chunks for people.
type textPrinter struct {
	a       *app
	p       painter
	explain *explainer
	n       int
}

func (t *textPrinter) chunk(r *connector.Record) error {
	place := fmt.Sprintf("%v–%v", r.Metadata["line_start"], r.Metadata["line_end"])
	t.a.printf("%s\n", t.p.bold(fmt.Sprintf("── %s #%v", r.Path, r.Metadata["chunk_index"]))+
		t.p.dim(fmt.Sprintf("  lines %s  %d tokens  %d characters  %v", place, r.TokenCount, r.CharCount, r.Metadata["section"])))
	if r.Context != "" {
		t.a.printf("%s\n", t.p.dim(strings.TrimRight(r.Context, "\n")))
	}
	t.a.printf("%s\n\n", strings.TrimRight(r.Content, "\n"))
	t.n++
	return nil
}

func (t *textPrinter) document(f *found, x *pipeline.Explanation, n int) error {
	if t.explain == nil {
		return nil
	}
	lines, err := t.explain.lines(f, x, n)
	if err != nil {
		return err
	}
	for _, line := range lines {
		t.a.printf("%s\n", line)
	}
	t.a.printf("\n")
	return nil
}

func (t *textPrinter) end() error {
	if t.n != 1 {
		t.a.printf("%s\n", number(t.n, "chunk"))
	}
	return nil
}
