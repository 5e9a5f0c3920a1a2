package strategies

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// TableConfig configures the strategy table.
type TableConfig struct {
	Sizing `yaml:",inline"`
	// Mode says how rows are written.
	Mode         string   `yaml:"mode" enum:"rows,markdown,html,json" doc:"how rows are written: header: value pairs, a Markdown table, an HTML table, or a JSON object a line"`
	RowsPerChunk int      `yaml:"rows_per_chunk" doc:"at most so many rows in a chunk; 0: as many as fit"`
	Template     string   `yaml:"template" doc:"a cell in mode rows, in which {header} and {value} are replaced; or en or zh, which are templates of a cell and a row"`
	Record       string   `yaml:"record" doc:"a row in mode rows, in which {cells} is replaced; default: that of the template"`
	Separator    string   `yaml:"separator" doc:"stands between the cells of a row in mode rows"`
	KeyColumns   []string `yaml:"key_columns" doc:"columns repeated in the later parts of a row that is cut; default: the first one that tells rows apart"`
}

func tableDefaults() TableConfig {
	return TableConfig{Sizing: Sizing{MinChars: 20}, Mode: "rows", Template: "en", Separator: "; "}
}

// Validate reports what cannot work.
func (c TableConfig) Validate() error {
	if err := c.Sizing.Validate(); err != nil {
		return err
	}
	switch c.Mode {
	case "", "rows", "markdown", "html", "json":
	default:
		return fmt.Errorf("mode is %q: choose rows, markdown, html or json", c.Mode)
	}
	if c.RowsPerChunk < 0 {
		return fmt.Errorf("rows_per_chunk is %d: it must not be negative (0: as many as fit)", c.RowsPerChunk)
	}
	cell, record := c.templates()
	if strings.Count(cell, "{value}") != 1 {
		return fmt.Errorf("template is %q: choose en or zh, or write one that holds {value} once", c.Template)
	}
	if strings.Count(cell, "{header}") > 1 {
		return errors.New("template holds {header} more than once")
	}
	if strings.Count(record, "{cells}") != 1 {
		return fmt.Errorf("record is %q: it must hold {cells} once", c.Record)
	}
	return nil
}

// templates are those of a cell and of a row.
func (c TableConfig) templates() (cell, record string) {
	switch c.Template {
	case "", "en":
		cell, record = "{header}: {value}", "{cells}"
	case "zh":
		cell, record = "{header}={value}", "数据记录: {cells}"
	default:
		cell, record = c.Template, "{cells}"
	}
	return cell, orText(c.Record, record)
}

// tableStrategy cuts tables and records by row.
type tableStrategy struct {
	b *budget
	c TableConfig
}

var _ connector.Strategy = (*tableStrategy)(nil)

// Table is the strategy table: whole rows, as many in a chunk as fit. A row that does not fit is cut between cells: each piece is a
// table of its own with the key columns and their headers, and a cell that does not fit is cut as text. Records of JSON and JSON Lines
// are rows whose headers are their top-level keys, or stay as they are in mode json. What stands around tables is cut as markdown does.
//
// Cell values are written unchanged in the modes rows and markdown, line ends and bars included; html and json escape
// what their syntax asks for. Tables of a Markdown document keep their own text in mode markdown.
func Table() connector.StrategyPlugin {
	return connector.Define("table", "Whole rows of tables and records, each with its headers",
		tableDefaults(),
		func(_ context.Context, c *TableConfig, env connector.StrategyEnv) (connector.Strategy, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("table: %w", err)
			}
			b, err := c.open(env, blockCaps)
			if err != nil {
				return nil, fmt.Errorf("table: %w", err)
			}
			d := tableDefaults()
			s := &tableStrategy{b: b, c: *c}
			s.c.Mode, s.c.Separator = orText(c.Mode, d.Mode), orText(c.Separator, d.Separator)
			s.c.Template, s.c.Record = c.templates()
			return s, nil
		})
}

func orText(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// Info describes the strategy.
func (s *tableStrategy) Info() connector.StrategyInfo {
	return connector.StrategyInfo{Name: "table", Version: 2, Caps: s.b.caps}
}

// Chunks cuts one document. Of a table it holds about three chunks at a time.
func (s *tableStrategy) Chunks(ctx context.Context, _ *connector.Document, elements iter.Seq2[connector.Element, error]) iter.Seq2[connector.Chunk, error] {
	return func(yield func(connector.Chunk, error) bool) {
		cutBlocks(ctx, s.b, layout{prefix: true}, &tableWriter{s: s}, elements)(yield)
	}
}

// tableWriter gathers rows until they make a chunk.
type tableWriter struct {
	s     *tableStrategy
	f     *flow
	t     tableHead
	open  bool
	queue []tableRow
	tail  []tableRow // the last chunk's rows, for the overlap
	x     int        // units before the next row
	rows  int        // rows seen
	a     anchorer
	found map[int]bool // rows at which packing starts afresh

	records int // JSON records seen
}

// tableRow is a row as it is written.
type tableRow struct {
	text   string // with its line end
	size   int
	x, seq int
	number int
	names  []string
	cells  []string
	span   connector.Span
	raw    string // the row as it stands in the text
	short  bool   // its names are too long to be written in full
}

// owns tells tables with rows, and records in mode rows.
func (w *tableWriter) owns(el *connector.Element) bool {
	switch {
	case el.Kind == connector.KindRecord:
		return w.s.c.Mode != "json"
	case el.Kind != connector.KindTable || el.Table == nil || len(el.Table.Rows) == 0:
		return false
	}
	return w.s.c.Mode != "markdown" || !isMarkdownTable(el.Table.HeaderText)
}

// isMarkdownTable tells a header that ends in a Markdown table's separator line.
func isMarkdownTable(header string) bool {
	header = strings.TrimRight(header, " \t\r\n")
	line := header[strings.LastIndexAny(header, "\r\n")+1:]
	return strings.Contains(line, "-") && strings.Trim(line, "|-: \t>") == ""
}

// take adds the rows of el.
func (w *tableWriter) take(f *flow, el connector.Element) bool {
	w.f = f
	if el.Kind == connector.KindRecord {
		return w.record(&el)
	}
	t := el.Table
	if !w.open || w.t.record || w.t.id != t.ID {
		w.close(f)
		w.start(&el)
	}
	at := el.Span.Start
	for i := range t.Rows {
		row := &t.Rows[i]
		if i == 0 && t.HeaderSpan.Len() > 0 && t.HeaderSpan.Start >= at && t.HeaderSpan.End <= row.Span.Start {
			w.gap(&el, w.captionEnd(&el, at, t.HeaderSpan.Start), t.HeaderSpan.Start)
			at = t.HeaderSpan.End
			if w.t.short {
				w.gap(&el, t.HeaderSpan.Start, at)
			}
		}
		if i == 0 && at == el.Span.Start {
			at = w.captionEnd(&el, at, row.Span.Start)
		}
		w.gap(&el, at, row.Span.Start)
		at = max(at, row.Span.End)
		w.row(tableRow{number: t.FirstRow + i, names: w.t.names, cells: row.Cells, span: row.Span, raw: el.Text[row.Span.Start-el.Span.Start : row.Span.End-el.Span.Start]})
		if w.f.done {
			return true
		}
	}
	w.gap(&el, at, el.Span.End)
	return true
}

func (w *tableWriter) restart() {
	w.x, w.a, w.found, w.tail = 0, anchorer{reach: w.s.b.anchorRadius()}, map[int]bool{}, nil
}

// gap cuts text of a table's element that is in no row, in its place.
func (w *tableWriter) gap(el *connector.Element, lo, hi int) {
	if lo >= hi || w.f.done {
		return
	}
	text := el.Text[lo-el.Span.Start : hi-el.Span.Start]
	if strings.TrimSpace(text) == "" {
		return
	}
	w.drain(true)
	w.restart()
	w.f.els = append(w.f.els, connector.Element{Kind: connector.KindText, Text: text, Span: connector.Span{Start: lo, End: hi}, Page: el.Page})
	w.f.flush(false)
}

// record adds a JSON record.
func (w *tableWriter) record(el *connector.Element) bool {
	names, cells, number, ok := recordFields(el)
	mode := w.s.c.Mode
	if !ok || mode != "rows" && len(names) == 0 {
		w.close(w.f)
		w.f.els = append(w.f.els, *el)
		w.f.flush(false)
		return true
	}
	caption := ""
	if el.Table != nil {
		caption = el.Table.Caption
	}
	names, short := w.shortNames(names)
	if !w.open || !w.t.record || w.t.caption != caption || mode != "rows" && !slices.Equal(w.t.names, names) {
		if !w.open || !w.t.record {
			w.records = 0
		}
		w.close(w.f)
		w.open = true
		w.t = tableHead{record: true, mode: mode, page: el.Page, caption: caption}
		if mode != "rows" {
			w.t.names = names
			w.frameHead(len(names))
		}
		w.restart()
	}
	if w.records++; number == 0 {
		number = w.records
	}
	w.row(tableRow{number: number, names: names, cells: cells, span: el.Span, raw: el.Text, short: short})
	return true
}

// recordFields are the keys and values of a record: the parser's, or read from its text.
func recordFields(el *connector.Element) (names, cells []string, number int, ok bool) {
	if t := el.Table; t != nil && len(t.Rows) == 1 {
		return headerNames(t.Header), t.Rows[0].Cells, t.FirstRow, true
	}
	names, cells, ok = jsonFields(el.Text)
	return names, cells, 0, ok
}

// close writes the rows held back.
func (w *tableWriter) close(f *flow) bool {
	if w.open {
		w.f = f
		w.drain(true)
		w.open = false
	}
	return true
}
