package parsertest

import (
	"context"
	"io"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// lines is a sound parser: one element a line, and a dropped one for each "#" line.
type lines struct {
	// mutate, if set, spoils the elements; the other fields are faults of behaviour.
	mutate       func(els []connector.Element) []connector.Element
	ignoreCancel bool
	hideErrors   bool
	yieldOn      bool
	panics       bool
	count        *atomic.Int64
}

func (p *lines) Info() connector.ParserInfo { return connector.ParserInfo{Name: "lines", Version: 1} }

func (p *lines) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		raw, err := io.ReadAll(r)
		if err != nil && !p.hideErrors {
			yield(connector.Element{}, err)
			return
		}
		if p.panics && len(raw) == 0 {
			panic("planted")
		}
		for _, el := range p.elements(string(raw)) {
			if err := ctx.Err(); err != nil && !p.ignoreCancel {
				yield(connector.Element{}, err)
				return
			}
			if !yield(el, nil) && !p.yieldOn {
				return
			}
		}
	}
}

func (p *lines) elements(raw string) []connector.Element {
	var els []connector.Element
	pos := 0
	for _, line := range strings.SplitAfter(strings.ToValidUTF8(strings.NewReplacer("\x00", "", "\r", "").Replace(raw), ""), "\n") {
		if line == "" {
			continue
		}
		span := connector.Span{Start: pos, End: pos + len(line)}
		if line[0] == '#' {
			els = append(els, connector.Element{Kind: connector.KindDropped, Text: clip(line), Reason: connector.DropComment, Span: connector.Span{Start: pos, End: pos}})
			continue
		}
		el := connector.Element{Kind: connector.KindText, Text: line, Span: span}
		if strings.HasPrefix(line, "|") {
			row := connector.Row{Cells: []string{line}, Span: span}
			el.Kind, el.Table = connector.KindTable, &connector.Table{ID: 1 + len(els), FirstRow: 1, Rows: []connector.Row{row}}
		}
		els = append(els, el)
		pos = span.End
	}
	if p.mutate != nil && len(els) > 0 {
		els = p.mutate(els)
	}
	return els
}

func clip(s string) string { return s[:min(len(s), 4096)] }

const sample = "first line\n# comment sentinel\nsecond line\n| row\nlast line\n"

func TestSoundParserPasses(t *testing.T) {
	Run(t, func() connector.Parser { return &lines{} }, []Case{{Name: "sample", Input: sample, Sentinels: []string{"sentinel", "last"}}})
}

// Each planted fault must be caught by its rule.
func TestPlantedFaults(t *testing.T) {
	mutate := func(change func(els []connector.Element) []connector.Element) *lines { return &lines{mutate: change} }
	each := func(change func(el *connector.Element)) *lines {
		return mutate(func(els []connector.Element) []connector.Element {
			for i := range els {
				change(&els[i])
			}
			return els
		})
	}
	elements := func(check func([]connector.Element) error) func(connector.Parser) error {
		return func(p connector.Parser) error {
			els, err := Collect(context.Background(), p, "", strings.NewReader(sample))
			if err != nil {
				return nil //nolint:nilerr // a fault that shows as an error is not the one under test
			}
			return check(els)
		}
	}
	behaviour := func(check func(connector.Parser, string, string) error) func(connector.Parser) error {
		return func(p connector.Parser) error { return check(p, "", sample) }
	}
	table := func(change func(t *connector.Table, el *connector.Element)) *lines {
		return each(func(el *connector.Element) {
			if el.Table != nil {
				change(el.Table, el)
			}
		})
	}
	child := func(c connector.Element) *lines {
		return each(func(el *connector.Element) {
			if el.Span.Start == 0 && el.Kind == connector.KindText {
				el.Children = []connector.Element{c}
			}
		})
	}
	faults := []struct {
		name  string
		p     *lines
		check func(connector.Parser) error
	}{
		{"gap", mutate(func(els []connector.Element) []connector.Element { return els[1:] }), elements(CheckTiling)},
		{"overlap", mutate(func(els []connector.Element) []connector.Element { return append(els, els[len(els)-1]) }), elements(CheckTiling)},
		{"text shorter than span", each(func(el *connector.Element) { el.Text = strings.TrimSpace(el.Text) }), elements(CheckTiling)},
		{"dropped with a span", each(func(el *connector.Element) {
			if el.Kind == connector.KindDropped {
				el.Span.End++
			}
		}), elements(CheckTiling)},
		{"dropped without a reason", each(func(el *connector.Element) { el.Reason = "" }), elements(CheckTiling)},
		{"child outside", child(connector.Element{Kind: connector.KindText, Text: "x", Span: connector.Span{Start: 90, End: 91}}), elements(CheckChildren)},
		{"child with other text", child(connector.Element{Kind: connector.KindText, Text: "x", Span: connector.Span{Start: 0, End: 1}}), elements(CheckChildren)},
		{"row outside", table(func(t *connector.Table, _ *connector.Element) { t.Rows[0].Span.End++ }), elements(CheckTables)},
		{"row numbers", table(func(t *connector.Table, _ *connector.Element) { t.FirstRow = 0 }), elements(CheckTables)},
		{"row cut", table(func(t *connector.Table, _ *connector.Element) { t.Rows[0].Span.End-- }), elements(CheckTables)},
		{"table lost", table(func(_ *connector.Table, el *connector.Element) { el.Table = nil }), elements(CheckTables)},
		{"header elsewhere", table(func(t *connector.Table, _ *connector.Element) {
			t.HeaderText, t.HeaderSpan = "h\n", connector.Span{Start: 0, End: 2}
		}), elements(CheckTables)},
		{"invalid UTF-8", each(func(el *connector.Element) { el.Text = "\xff" + el.Text[1:] }), elements(CheckText)},
		{"carriage return", each(func(el *connector.Element) { el.Text = "\r" + el.Text[1:] }), elements(CheckText)},
		{"heading without level", each(func(el *connector.Element) { el.Kind = connector.KindHeading }), elements(CheckKinds)},
		{"unknown kind", each(func(el *connector.Element) { el.Kind = "poem" }), elements(CheckKinds)},
		{"symbol parts", each(func(el *connector.Element) {
			el.Kind, el.Symbol = connector.KindSymbol, &connector.Symbol{Body: connector.Span{Start: 0, End: 1000}}
		}), elements(CheckSymbols)},
		{"sentinel lost", mutate(func(els []connector.Element) []connector.Element { return els[:1] }), elements(func(els []connector.Element) error {
			return CheckSentinels(els, []string{"sentinel"})
		})},
		{"not deterministic", &lines{count: new(atomic.Int64)}, behaviour(CheckDeterminism)},
		{"goes on after cancel", &lines{ignoreCancel: true}, behaviour(CheckCancel)},
		{"hides read errors", &lines{hideErrors: true}, behaviour(CheckReadErrors)},
		{"yields after break", &lines{yieldOn: true}, behaviour(CheckBreak)},
		{"panics", &lines{panics: true}, func(p connector.Parser) error { return CheckSound(p, "", "") }},
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if f.p.count != nil {
				f.p.mutate = func(els []connector.Element) []connector.Element { return els[:f.p.count.Add(1)%3+1] }
			}
			if f.check(f.p) == nil {
				t.Error("the suite did not catch it")
			}
			if err := f.check(&lines{}); err != nil {
				t.Errorf("the rule is broken by a sound parser: %v", err)
			}
		})
	}
}
