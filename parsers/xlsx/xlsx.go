// Package xlsx reads workbooks of Excel 2007 and later: every visible sheet, divided into its tables, cell by cell as the program shows them.
//
// Dates, numbers, percentages and the like are written by their number format, formulas as the values that were stored with them. What
// kind of table stands where is told by package sheets. Comments and the texts of drawings follow the rows of their sheet.
//
// # Limits
//
// The file is held in memory, its sheets are streamed (those over 16 MiB of XML through a temporary file). Charts, pictures and macros are left out.
package xlsx

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sheets"
)

// Defaults of the configuration, in bytes.
const (
	DefaultMaxTreeSize = 64 << 20
	DefaultMaxUnpacked = 1 << 30
)

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize int   `yaml:"max_tree_size" doc:"workbooks over this many bytes are an error"`
	MaxUnpacked int64 `yaml:"max_unpacked" doc:"the most bytes that the sheets may unpack to"`
	Hidden      bool  `yaml:"hidden" doc:"read hidden sheets too"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 || c.MaxUnpacked < 1 {
		return errors.New("max_tree_size and max_unpacked must be at least 1")
	}
	return nil
}

func defaults() Config {
	return Config{MaxTreeSize: DefaultMaxTreeSize, MaxUnpacked: DefaultMaxUnpacked}
}

// Parser reads workbooks.
type Parser struct{ cfg Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry.
func Plugin() connector.ParserPlugin {
	return connector.Define("xlsx", "Excel workbooks: the tables of every sheet", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("xlsx: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "xlsx", Version: 1} }

// Parse yields the sheets one after another.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, sheets.ErrStopped) {
			yield(connector.Element{}, fmt.Errorf("xlsx: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	data, err := io.ReadAll(io.LimitReader(r, int64(p.cfg.MaxTreeSize)+1))
	if err != nil {
		return err
	}
	if len(data) > p.cfg.MaxTreeSize {
		return connector.Errorf(connector.ClassInvalid, "the workbook is larger than %d bytes: raise max_tree_size, or save it as CSV", p.cfg.MaxTreeSize)
	}
	if len(data) == 0 {
		return nil
	}
	pack, err := unpack(data, p.cfg.MaxUnpacked)
	if err != nil {
		return err
	}
	book, err := open(pack)
	if err != nil {
		return err
	}
	defer func() { _ = book.Close() }() // removes temporary files
	w := sheets.New(ctx, yield, properties(book))
	for i, s := range pack.sheets {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.hidden && !p.cfg.Hidden {
			if err := w.Drop(connector.DropHidden, "hidden sheet: "+s.name); err != nil {
				return err
			}
			continue
		}
		if err := sheet(ctx, book, pack, &pack.sheets[i], w); err != nil {
			return err
		}
	}
	for _, name := range pack.left {
		if err := w.Drop(connector.DropEmbedded, name); err != nil {
			return err
		}
	}
	return w.Close()
}

// open opens the workbook. A panic of the library is an error: the bytes are at fault.
func open(pack *pack) (book *excelize.File, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = connector.Errorf(connector.ClassInvalid, "the workbook cannot be read: %v", v)
		}
	}()
	book, err = excelize.OpenReader(bytes.NewReader(pack.slim), excelize.Options{
		ShortDatePattern: "yyyy-mm-dd", UnzipSizeLimit: 2 * pack.limit, UnzipXMLSizeLimit: min(16<<20, 2*pack.limit),
	})
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "the workbook cannot be read: %w", err)
	}
	return book, nil
}

// sheet writes one sheet.
func sheet(ctx context.Context, book *excelize.File, pack *pack, s *sheetPart, w *sheets.Writer) (err error) {
	facts, err := scan(pack.parts[s.part])
	if err != nil {
		return connector.Errorf(connector.ClassInvalid, "sheet %q: %w", s.name, err)
	}
	if err := w.Begin(s.name, sheets.Heading(s.name), facts.merged); err != nil {
		return err
	}
	if err := rows(ctx, book, s.name, facts.rows, w); err != nil {
		return err
	}
	if err := w.End(); err != nil {
		return err
	}
	texts, err := pack.annotations(s)
	if err != nil {
		return connector.Errorf(connector.ClassInvalid, "sheet %q: %w", s.name, err)
	}
	return w.Text(connector.KindText, strings.Join(texts, "\n"))
}

// rows writes the rows of a sheet. The library ends silently where XML is broken, so they are counted.
func rows(ctx context.Context, book *excelize.File, name string, want int, w *sheets.Writer) error {
	in, err := nextRows(book, name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	n := 0
	for {
		cells, ok, err := next(in)
		if err != nil {
			return connector.Errorf(connector.ClassInvalid, "sheet %q, row %d: %w", name, n+1, err)
		}
		if !ok {
			break
		}
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.Row(n, cells); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if n < want {
		return connector.Errorf(connector.ClassInvalid, "sheet %q breaks off after row %d: its XML is damaged", name, n)
	}
	return nil
}

func nextRows(book *excelize.File, name string) (in *excelize.Rows, err error) {
	defer recovered(&err)
	in, err = book.Rows(name)
	var missing excelize.ErrSheetNotExist
	if errors.As(err, &missing) {
		err = fmt.Errorf("the part of sheet %q is missing", name)
	}
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "%w", err)
	}
	return in, nil
}

// next reads a row.
func next(in *excelize.Rows) (cells []string, ok bool, err error) {
	defer recovered(&err)
	if !in.Next() {
		return nil, false, in.Error()
	}
	cells, err = in.Columns()
	return cells, true, err
}

// recovered makes an error of a panic in the library.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = connector.Errorf(connector.ClassInvalid, "it cannot be read: %v", v)
	}
}

// properties are what the workbook says about itself.
func properties(book *excelize.File) (props map[string]any) {
	defer func() { _ = recover() }() // a workbook without legible properties has none
	p, err := book.GetDocProps()
	if err != nil || p == nil {
		return nil
	}
	for _, f := range [...][2]string{
		{"title", p.Title}, {"author", p.Creator}, {"subject", p.Subject}, {"keywords", p.Keywords}, {"description", p.Description},
		{"category", p.Category}, {"language", p.Language}, {"created", p.Created}, {"modified", p.Modified},
	} {
		if v := strings.TrimSpace(strings.ToValidUTF8(f[1], "")); v != "" {
			if props == nil {
				props = map[string]any{}
			}
			props[f[0]] = v
		}
	}
	return props
}

// zipReader opens the package.
func zipReader(data []byte) (*zip.Reader, error) {
	if bytes.HasPrefix(data, []byte("\xD0\xCF\x11\xE0")) {
		return nil, connector.Errorf(connector.ClassInvalid, "the workbook is encrypted (or of the old binary format under a new name): save it without a password as .xlsx")
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "this is no workbook, or one that is cut short: %w", err)
	}
	return z, nil
}
