package parsertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
)

// CheckElements applies every rule about what a parser yields.
func CheckElements(els []connector.Element) error {
	return errors.Join(CheckTiling(els), CheckChildren(els), CheckTables(els), CheckText(els), CheckKinds(els), CheckSymbols(els))
}

// CheckTiling checks this: top-level elements that are not dropped are not empty and tile the parsed text from 0, each Text as long as its Span;
// dropped ones have an empty span within the text, a text and a reason of the contract's list.
func CheckTiling(els []connector.Element) error {
	pos := 0
	for i, el := range els {
		if el.Kind == connector.KindDropped {
			continue
		}
		if el.Span.Start != pos {
			return fmt.Errorf("element %d (%s) starts at %d, the one before ended at %d", i, el.Kind, el.Span.Start, pos)
		}
		if el.Span.Len() <= 0 || el.Span.Len() != len(el.Text) {
			return fmt.Errorf("element %d (%s) has span %v and %d bytes of text", i, el.Kind, el.Span, len(el.Text))
		}
		pos = el.Span.End
	}
	for i, el := range els {
		if el.Kind != connector.KindDropped {
			continue
		}
		switch {
		case el.Span.Len() != 0 || el.Span.Start < 0 || el.Span.Start > pos:
			return fmt.Errorf("dropped element %d has span %v in a text of %d bytes", i, el.Span, pos)
		case el.Text == "" || len(el.Text) > 4<<10:
			return fmt.Errorf("dropped element %d holds %d bytes", i, len(el.Text))
		case !slices.Contains(reasons(), el.Reason):
			return fmt.Errorf("dropped element %d has reason %q, which is not on the list", i, el.Reason)
		}
	}
	return nil
}

func reasons() []connector.DropReason {
	return []connector.DropReason{
		connector.DropControl, connector.DropInvisible, connector.DropBOM, connector.DropScript, connector.DropBoilerplate,
		connector.DropComment, connector.DropHidden, connector.DropFurniture, connector.DropMarkup, connector.DropUndecodable,
		connector.DropNoText, connector.DropDeleted, connector.DropQuoted, connector.DropEmbedded, connector.DropRepeated, connector.DropLimit,
	}
}

// CheckChildren checks this: children ascend, do not overlap, lie inside their parent, and their Text is what stands there.
func CheckChildren(els []connector.Element) error {
	for i := range els {
		if els[i].Kind == connector.KindDropped {
			continue
		}
		if err := checkChildren(&els[i]); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func checkChildren(parent *connector.Element) error {
	pos := parent.Span.Start
	for i := range parent.Children {
		c := &parent.Children[i]
		if c.Kind == connector.KindDropped {
			return fmt.Errorf("child %d of a %s is dropped; dropped elements stand at the top", i, parent.Kind)
		}
		if c.Span.Start < pos || c.Span.End > parent.Span.End || c.Span.Len() <= 0 {
			return fmt.Errorf("child %d (%s) %v of a %s %v does not lie after %d inside it", i, c.Kind, c.Span, parent.Kind, parent.Span, pos)
		}
		if c.Text != slice(parent, c.Span) {
			return fmt.Errorf("child %d (%s) %v: its text is not what stands there", i, c.Kind, c.Span)
		}
		pos = c.Span.End
		if err := checkChildren(c); err != nil {
			return fmt.Errorf("child %d: %w", i, err)
		}
	}
	return nil
}

func slice(el *connector.Element, s connector.Span) string {
	return el.Text[s.Start-el.Span.Start : s.End-el.Span.Start]
}

// CheckTables checks this: rows ascend inside their element and are not empty; they are numbered without gaps over the parts of a
// table; the parts share ID and header; the header's text ends in a line end and stands where HeaderSpan says in the first part.
func CheckTables(els []connector.Element) error {
	seen := map[int]*connector.Table{}
	next := map[int]int{}
	for i := range els {
		if err := walk(&els[i], func(el *connector.Element) error { return checkTable(el, seen, next) }); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func walk(el *connector.Element, visit func(*connector.Element) error) error {
	if err := visit(el); err != nil {
		return err
	}
	for i := range el.Children {
		if err := walk(&el.Children[i], visit); err != nil {
			return err
		}
	}
	return nil
}

func checkTable(el *connector.Element, seen map[int]*connector.Table, next map[int]int) error {
	t := el.Table
	if el.Kind == connector.KindTable && t == nil {
		return errors.New("a table element without Table")
	}
	if t == nil {
		return nil
	}
	first := seen[t.ID]
	if first == nil {
		seen[t.ID], next[t.ID] = t, 1
		if t.HeaderSpan.Len() > 0 && (t.HeaderSpan.Start < el.Span.Start || t.HeaderSpan.End > el.Span.End) {
			return fmt.Errorf("table %d: header %v outside the first part %v", t.ID, t.HeaderSpan, el.Span)
		}
	} else if t.HeaderText != first.HeaderText || t.HeaderSpan != first.HeaderSpan {
		return fmt.Errorf("table %d: parts with different headers", t.ID)
	}
	if t.HeaderText != "" && !strings.HasSuffix(t.HeaderText, "\n") {
		return fmt.Errorf("table %d: header text %q does not end in a line end", t.ID, t.HeaderText)
	}
	if first == nil && t.HeaderText != "" {
		if stands := slice(el, t.HeaderSpan); stands != t.HeaderText && stands+"\n" != t.HeaderText {
			return fmt.Errorf("table %d: %q stands at the header's place", t.ID, stands)
		}
	}
	if len(t.Rows) > 0 && t.FirstRow != next[t.ID] {
		return fmt.Errorf("table %d: first row is %d, want %d", t.ID, t.FirstRow, next[t.ID])
	}
	pos := el.Span.Start
	if first == nil && t.HeaderSpan.Len() > 0 {
		pos = t.HeaderSpan.End
	}
	for i, row := range t.Rows {
		if row.Span.Start < pos || row.Span.End > el.Span.End || row.Span.Len() <= 0 {
			return fmt.Errorf("table %d: row %d at %v does not lie after %d inside %v", t.ID, t.FirstRow+i, row.Span, pos, el.Span)
		}
		pos = row.Span.End
		if rest := strings.TrimRight(slice(el, row.Span), " \t"); rest == "" {
			return fmt.Errorf("table %d: row %d is blank", t.ID, t.FirstRow+i)
		}
		if row.Span.End < el.Span.End && !strings.HasSuffix(slice(el, row.Span), "\n") {
			return fmt.Errorf("table %d: row %d lacks its line end", t.ID, t.FirstRow+i)
		}
	}
	next[t.ID] += len(t.Rows)
	return nil
}

// CheckText checks this: everything is valid UTF-8, and the text holds neither NUL nor carriage return.
func CheckText(els []connector.Element) error {
	for i := range els {
		err := walk(&els[i], func(el *connector.Element) error {
			if !utf8.ValidString(el.Text) || !utf8.ValidString(el.Title) {
				return errors.New("not valid UTF-8")
			}
			if el.Kind != connector.KindDropped && strings.ContainsAny(el.Text, "\x00\r") {
				return errors.New("a NUL or carriage return in the text")
			}
			if el.Table != nil {
				for _, row := range el.Table.Rows {
					for _, cell := range row.Cells {
						if !utf8.ValidString(cell) {
							return errors.New("a cell is not valid UTF-8")
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("element %d (%s): %w", i, els[i].Kind, err)
		}
	}
	return nil
}

// CheckKinds checks this: kinds are of the contract; headings have a level of 1–6, lists and items at least 1, others 0.
func CheckKinds(els []connector.Element) error {
	for i := range els {
		err := walk(&els[i], func(el *connector.Element) error {
			low, high := 0, 0
			switch el.Kind {
			case connector.KindHeading:
				low, high = 1, 6
			case connector.KindList, connector.KindItem:
				low, high = 1, 1<<20
			case connector.KindText, connector.KindTable, connector.KindCode, connector.KindQuote, connector.KindMath, connector.KindImage,
				connector.KindHTML, connector.KindFrontMatter, connector.KindFootnote, connector.KindDefinition, connector.KindBreak,
				connector.KindSymbol, connector.KindRecord, connector.KindDropped:
			default:
				return fmt.Errorf("kind %q is not of the contract", el.Kind)
			}
			if el.Level < low || el.Level > high {
				return fmt.Errorf("a %s of level %d", el.Kind, el.Level)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

// CheckSymbols checks this: a symbol's header, doc and body lie inside its element.
func CheckSymbols(els []connector.Element) error {
	for i := range els {
		err := walk(&els[i], func(el *connector.Element) error {
			if el.Kind == connector.KindSymbol && el.Symbol == nil {
				return errors.New("a symbol element without Symbol")
			}
			if el.Symbol == nil {
				return nil
			}
			for _, s := range []connector.Span{el.Symbol.Header, el.Symbol.Doc, el.Symbol.Body} {
				if s.Len() != 0 && (s.Start < el.Span.Start || s.End > el.Span.End || s.Len() < 0) {
					return fmt.Errorf("part %v of symbol %q outside %v", s, el.Symbol.Name, el.Span)
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

// CheckSentinels checks this: each word stands in the parsed text or in a dropped element.
func CheckSentinels(els []connector.Element, words []string) error {
	text := Text(els)
	for _, w := range words {
		if strings.Contains(text, w) {
			continue
		}
		if !slices.ContainsFunc(els, func(el connector.Element) bool {
			return el.Kind == connector.KindDropped && strings.Contains(el.Text, w)
		}) {
			return fmt.Errorf("%q is neither in the text nor in a dropped element", w)
		}
	}
	return nil
}
