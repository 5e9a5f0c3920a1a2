package delimited

import (
	"bytes"
	"context"
	"errors"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// errStopped says that the consumer wants no more.
var errStopped = errors.New("stopped")

// reading is the state of one Parse.
type reading struct {
	in     *decode.Reader
	win    *window
	config Config
	yield  func(connector.Element, error) bool

	dialect    dialect
	header     [][]string
	headerText string
	headerSpan connector.Span
	rows       int // data rows yielded so far
	fields     []field
	run        run // the element in the making, reused
}

func (r *reading) read(ctx context.Context, tabs bool) error {
	if err := r.win.want(sampleSize); err != nil {
		return err
	}
	if err := r.begin(tabs); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := r.next()
		if err != nil {
			return err
		}
		if done {
			return r.drops()
		}
	}
}

// begin settles dialect and header, and yields what stands before the table.
func (r *reading) begin(tabs bool) error {
	head := r.win.rest()
	whole := r.win.eof && len(head) <= sampleSize
	head = head[:min(len(head), sampleSize)]
	r.dialect = r.chooseDialect(head, whole, tabs)
	l := plan(r.dialect.cut(head, whole), r.config.Header, whole)
	if l.header != nil {
		r.header = l.header
		r.headerText = string(head[l.headerSpan.Start:l.headerSpan.End])
		r.headerSpan = l.headerSpan
	}
	if l.start == 0 {
		return nil
	}
	return r.emitText(l.start)
}

func (r *reading) chooseDialect(head []byte, whole, tabs bool) dialect {
	d := dialect{}
	delim, fixedDelim := delimiterByName(r.config.Delimiter)
	quote, fixedQuote := quoteByName(r.config.Quote)
	if !fixedDelim || !fixedQuote {
		d = sniff(head, whole, tabs)
	}
	if fixedDelim {
		d.delim = delim
	}
	if fixedQuote {
		d.quote = quote
	}
	return d
}

// record finds the record at offset from of the window, reading on as it must. Fields are relative to the record.
// ok is false where the line is over the limit.
func (r *reading) record(from int) (end int, ok bool, err error) {
	d := r.dialect
	for want := maxElementBytes; ; want *= 2 {
		rest := r.win.rest()[from:]
		limited := len(rest) >= r.config.MaxRecordBytes
		if limited {
			rest = rest[:r.config.MaxRecordBytes]
		}
		var st status
		r.fields, end, st = d.scan(rest, r.win.eof && !limited, r.fields[:0])
		switch {
		case st == scanned:
			return end, true, nil
		case (st == unclosed || limited) && d.quote != 0:
			d.quote = 0
		case limited:
			return 0, false, nil
		default:
			if err := r.win.want(from + min(max(want, 2*len(rest)), r.config.MaxRecordBytes)); err != nil {
				return 0, false, err
			}
		}
	}
}

// run is a run of records that will be one element; places are relative to its start.
type run struct {
	size   int
	fields []field
	rows   []runRow
}

// runRow is one record of a run: where it stands, and the end of its fields among the run's.
type runRow struct{ start, end, fields int }

// next yields one element; done says that the text has ended.
func (r *reading) next() (done bool, err error) {
	e := &r.run
	e.size, e.fields, e.rows = 0, e.fields[:0], e.rows[:0]
	limit := maxElementBytes
	if r.headerSpan.End > r.win.base {
		e.size = r.headerSpan.End - r.win.base
		limit = r.config.MaxRecordBytes // the header stays with the first row
	}
	for len(e.rows) < maxElementRows {
		if len(r.win.rest()) == e.size {
			if err := r.win.want(e.size + 1); err != nil {
				return false, err
			}
			if len(r.win.rest()) == e.size {
				return true, r.emit(e)
			}
		}
		end, ok, err := r.record(e.size)
		if err != nil {
			return false, err
		}
		if !ok {
			if err := r.emit(e); err != nil {
				return false, err
			}
			return false, r.longLine()
		}
		if e.size > 0 && e.size+end > limit {
			break
		}
		e.add(r.win.rest()[e.size:e.size+end], r.fields)
		if len(e.rows) > 0 {
			limit = maxElementBytes
		}
	}
	return false, r.emit(e)
}

// add appends a record. A blank line is no row.
func (e *run) add(record []byte, fields []field) {
	if !blank(record, fields) {
		for _, f := range fields {
			f.start += e.size
			f.end += e.size
			e.fields = append(e.fields, f)
		}
		e.rows = append(e.rows, runRow{start: e.size, end: e.size + len(record), fields: len(e.fields)})
	}
	e.size += len(record)
}

// emit yields e as a table element, or as text where it has neither header nor row.
func (r *reading) emit(e *run) error {
	if e.size == 0 {
		return nil
	}
	base := r.win.base
	if len(e.rows) == 0 && r.headerSpan.End <= base {
		return r.emitText(e.size)
	}
	text := string(r.win.rest()[:e.size])
	table := &connector.Table{
		ID: 1, Header: r.header, HeaderText: r.headerText, HeaderSpan: r.headerSpan,
		FirstRow: r.rows + 1, Rows: make([]connector.Row, len(e.rows)),
	}
	cells := make([]string, len(e.fields))
	for i, f := range e.fields {
		cells[i] = r.dialect.value(text, f)
	}
	first := 0
	for i, row := range e.rows {
		table.Rows[i] = connector.Row{
			Cells: cells[first:row.fields:row.fields],
			Span:  connector.Span{Start: base + row.start, End: base + row.end},
		}
		first = row.fields
	}
	r.rows += len(e.rows)
	return r.send(connector.Element{Kind: connector.KindTable, Text: text, Table: table}, e.size)
}

// longLine yields the line that is over the limit in pieces.
func (r *reading) longLine() error {
	for {
		if err := r.win.want(maxElementBytes); err != nil {
			return err
		}
		b := r.win.rest()
		if len(b) == 0 {
			return nil
		}
		if k := bytes.IndexByte(b[:min(len(b), maxElementBytes)], '\n'); k >= 0 {
			return r.emitText(k + 1)
		}
		n := len(b)
		if n > maxElementBytes {
			n = cutPoint(b[:maxElementBytes])
		}
		if err := r.emitText(n); err != nil {
			return err
		}
	}
}

// cutPoint is where to cut b, which goes on: after its last space, or else at its last character boundary.
func cutPoint(b []byte) int {
	if k := bytes.LastIndexByte(b, ' '); k > len(b)/2 {
		return k + 1
	}
	n := len(b) - 1
	for n > 1 && len(b)-n < utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

func (r *reading) emitText(n int) error {
	return r.send(connector.Element{Kind: connector.KindText, Text: string(r.win.rest()[:n])}, n)
}

// send yields e, which is the next n bytes of the text, after what was left out before it.
func (r *reading) send(e connector.Element, n int) error {
	if err := r.drops(); err != nil {
		return err
	}
	e.Span = connector.Span{Start: r.win.base, End: r.win.base + n}
	r.win.skip(n)
	if !r.yield(e, nil) {
		return errStopped
	}
	return nil
}

// drops yields what the decoder left out up to here.
func (r *reading) drops() error {
	for _, d := range r.in.Drain(r.win.base) {
		if !r.yield(d.Element(), nil) {
			return errStopped
		}
	}
	return nil
}
