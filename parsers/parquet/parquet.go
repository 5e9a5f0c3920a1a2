// Package parquet reads Parquet files as one table: the fields of the schema are its columns, in their order.
//
// Dates, times, timestamps and decimals are written as such, nested values as JSON, missing ones as empty cells, and binary values by
// their length alone.
//
// # Limits
//
// The file is held in memory, its rows are read in batches.
package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/parquet-go/parquet-go"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/sheets"
)

// DefaultMaxTreeSize is the default of max_tree_size, in bytes.
const DefaultMaxTreeSize = 64 << 20

// Bounds.
const (
	batch     = 64
	maxFields = 10_000
	// maxGrowth bounds what a file may unpack to, as a multiple of its size: real files reach some hundreds with runs of one value.
	maxGrowth = 4000
)

// Config is the configuration of the parser.
type Config struct {
	MaxTreeSize int `yaml:"max_tree_size" doc:"files over this many bytes are an error"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxTreeSize < 1 {
		return errors.New("max_tree_size must be at least 1")
	}
	return nil
}

func defaults() Config { return Config{MaxTreeSize: DefaultMaxTreeSize} }

// Parser reads Parquet files.
type Parser struct{ cfg Config }

var _ connector.Parser = (*Parser)(nil)

// Plugin is the registry entry.
func Plugin() connector.ParserPlugin {
	return connector.Define("parquet", "Parquet files: one table", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("parquet: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo {
	return connector.ParserInfo{Name: "parquet", Version: 1}
}

// Parse yields the rows as parts of one table.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, sheets.ErrStopped) {
			yield(connector.Element{}, fmt.Errorf("parquet: %w", err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	data, err := io.ReadAll(io.LimitReader(r, int64(p.cfg.MaxTreeSize)+1))
	if err != nil {
		return err
	}
	if len(data) > p.cfg.MaxTreeSize {
		return connector.Errorf(connector.ClassInvalid, "the file is larger than %d bytes: raise max_tree_size", p.cfg.MaxTreeSize)
	}
	if len(data) == 0 {
		return nil
	}
	file, err := open(data)
	if err != nil {
		return err
	}
	w := sheets.New(ctx, yield, nil)
	fields := file.Schema().Fields()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name()
	}
	table, err := w.Table(nil, [][]string{names})
	if err != nil {
		return err
	}
	in := &rows{file: file, fields: fields, buf: make([]parquet.Row, batch)}
	defer in.close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		cells, err := in.next()
		if err != nil {
			return err
		}
		if cells == nil {
			break
		}
		for _, c := range cells {
			if err := table.Add(c); err != nil {
				return err
			}
		}
	}
	if err := table.End(); err != nil {
		return err
	}
	return w.Close()
}

// open opens a file. The library panics on some footers that are damaged: that is an error too.
func open(data []byte) (file *parquet.File, err error) {
	defer recovered(&err)
	if len(data) < 12 || !bytes.HasPrefix(data, []byte("PAR1")) {
		return nil, connector.Errorf(connector.ClassInvalid, "this is no Parquet file: it does not begin with PAR1")
	}
	if bytes.HasSuffix(data, []byte("PARE")) {
		return nil, connector.Errorf(connector.ClassInvalid, "the file is encrypted")
	}
	file, err = parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "the file is damaged or cut short: %w", err)
	}
	if n := len(file.Schema().Fields()); n == 0 || n > maxFields {
		return nil, connector.Errorf(connector.ClassInvalid, "the file has %d columns, want 1 to %d", n, maxFields)
	}
	return file, sizes(file, int64(len(data)))
}

// sizes checks what the footer says before anything is unpacked.
func sizes(file *parquet.File, size int64) error {
	total := int64(0)
	for _, g := range file.Metadata().RowGroups {
		for _, c := range g.Columns {
			n := c.MetaData.TotalUncompressedSize
			if total += n; n < 0 || total > size*maxGrowth {
				return connector.Errorf(connector.ClassInvalid, "the file says that it unpacks to over %d times its size", maxGrowth)
			}
		}
	}
	return nil
}

// rows reads the rows of all groups.
type rows struct {
	file   *parquet.File
	fields []parquet.Field
	group  int
	in     parquet.Rows
	buf    []parquet.Row
}

// next gives some more rows; none at the end.
func (r *rows) next() (cells [][]string, err error) {
	defer recovered(&err)
	groups := r.file.RowGroups()
	for {
		if r.in == nil {
			if r.group == len(groups) {
				return nil, nil
			}
			r.in = groups[r.group].Rows()
			r.group++
		}
		n, err := r.in.ReadRows(r.buf)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, connector.Errorf(connector.ClassInvalid, "row group %d is damaged: %w", r.group, err)
		}
		for _, row := range r.buf[:n] {
			cells = append(cells, record(r.fields, row))
		}
		if n == 0 || err != nil {
			r.close()
		}
		if len(cells) > 0 {
			return cells, nil
		}
	}
}

func (r *rows) close() {
	if r.in != nil {
		_ = r.in.Close()
		r.in = nil
	}
}

// recovered makes an error of a panic in the library.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = connector.Errorf(connector.ClassInvalid, "the file is damaged: %v", v)
	}
}
