// Package archive lists what archives hold: zip files, tar files, and files packed by gzip, bzip2 or zstd, alone or with a tar file inside. An
// archive has no text of its own; its members are documents.
//
// # Config
//
// One member over max_member_size, or that unpacks to more than max_ratio times its size, is listed with that reason. An archive over
// max_members, max_total or, as a whole, max_ratio is an error.
//
// # Limits
//
// Listing a tar file reads it once. What a packed tar file holds is unpacked once, into memory up to 4 MiB and else into a temporary file
// without a name, which lives as long as somebody may read a member: starting anew for each member would cost the square of their number.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/kbsync/kbsync/connector"
)

// Defaults of the configuration.
const (
	DefaultMaxMembers    = 100_000
	DefaultMaxMemberSize = 1 << 30
	DefaultMaxTotal      = 8 << 30
	DefaultMaxRatio      = 1000
)

// ratioFrom is the size below which nobody asks how well something was packed.
const ratioFrom = 1 << 20

// Config is the configuration of the parsers.
type Config struct {
	MaxMembers    int   `yaml:"max_members" doc:"an archive of more members is an error"`
	MaxMemberSize int64 `yaml:"max_member_size" format:"size" doc:"a larger member is left out"`
	MaxTotal      int64 `yaml:"max_total" format:"size" doc:"an archive whose members come to more, unpacked, is an error"`
	MaxRatio      int64 `yaml:"max_ratio" doc:"how many times its packed size something over 1 MiB may have"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxMembers < 1 || c.MaxMemberSize < 1 || c.MaxTotal < 1 || c.MaxRatio < 1 {
		return errors.New("max_members, max_member_size, max_total and max_ratio must be at least 1")
	}
	return nil
}

func defaults() Config {
	return Config{MaxMembers: DefaultMaxMembers, MaxMemberSize: DefaultMaxMemberSize, MaxTotal: DefaultMaxTotal, MaxRatio: DefaultMaxRatio}
}

// Parser lists archives of one format.
type Parser struct {
	cfg Config
	format
}

// format is what the formats differ in.
type format struct {
	name string
	// check reads the archive to its end and says what is wrong with it, as far as that shows without unpacking it.
	check func(r io.Reader) error
	list  func(ctx context.Context, l *lister) error
}

var _ connector.Container = (*Parser)(nil)

// ZipPlugin is the registry entry of zip files.
func ZipPlugin() connector.ParserPlugin {
	return plugin("Zip archives: each file in them is a document.", format{"zip", checkZip, listZip})
}

// TarPlugin is the registry entry of tar files.
func TarPlugin() connector.ParserPlugin {
	return plugin("Tar archives, also packed by gzip, bzip2 or zstd: each file in them is a document.", format{"tar", checkTar, listTar})
}

// GzipPlugin is the registry entry of packed files.
func GzipPlugin() connector.ParserPlugin {
	return plugin("Files packed by gzip, bzip2 or zstd: the file within, or those of the tar archive within.", format{"gzip", checkPacked, listPacked})
}

func plugin(doc string, f format) connector.ParserPlugin {
	return connector.Define(f.name, doc, defaults(), func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
		if err := c.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		return &Parser{cfg: *c, format: f}, nil
	})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: p.name, Version: 1} }

// Parse yields nothing but an error, if the archive cannot be read.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		b := &beginning{r: r}
		err := p.check(b)
		if err == nil || b.err == nil {
			_, _ = io.Copy(io.Discard, b) // b remembers the error
		}
		switch {
		case b.err != nil && !errors.Is(b.err, io.EOF):
			err = b.err
		case b.n == 0: // an empty file holds nothing
			err = nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(connector.Element{}, fmt.Errorf("%s: %w", p.name, err))
		}
	}
}

// beginning remembers how reading went.
type beginning struct {
	r   io.Reader
	n   int64
	err error
}

// Read implements io.Reader.
func (b *beginning) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	b.n += int64(n)
	b.err = err
	return n, err
}

// errStopped says that the consumer wants no more.
var errStopped = errors.New("stopped")

// Members yields the files of the archive.
func (p *Parser) Members(ctx context.Context, doc *connector.Document, r io.ReaderAt, size int64) iter.Seq2[connector.Member, error] {
	return func(yield func(connector.Member, error) bool) {
		if size == 0 {
			return
		}
		l := &lister{cfg: &p.cfg, doc: doc, r: source{r}, size: size, yield: yield}
		if err := p.list(ctx, l); err != nil && !errors.Is(err, errStopped) {
			yield(connector.Member{}, fmt.Errorf("%s: %w", p.name, err))
		}
	}
}

// lister is the listing of one archive.
type lister struct {
	cfg   *Config
	doc   *connector.Document
	r     io.ReaderAt
	size  int64
	yield func(connector.Member, error) bool
	total int64
}

// found is a member before its name is settled.
type found struct {
	connector.Member
	raw string // the name as the archive has it
}

// send settles the names and yields the members.
func (l *lister) send(ctx context.Context, all []found) error {
	settle(all)
	for i := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := &all[i].Member
		if m.Reason != "" {
			m.Open = nil
		}
		if !l.yield(*m, nil) {
			return errStopped
		}
	}
	return nil
}

// count checks the limits of the whole, of which n members are known, when another one of size bytes is found.
func (l *lister) count(n int, size int64) error {
	if n >= l.cfg.MaxMembers {
		return connector.Errorf(connector.ClassInvalid, "the archive holds more than %d members: raise max_members to have it read", l.cfg.MaxMembers)
	}
	if l.total += size; l.total > l.cfg.MaxTotal || l.total < 0 {
		return connector.Errorf(connector.ClassInvalid, "the archive unpacks to more than %d bytes: raise max_total to have it read", l.cfg.MaxTotal)
	}
	return nil
}

// tooLarge is the reason for which a member of so many bytes, packed into so many, is left out; empty if it is not. packed is -1 if it is
// not known.
func (c *Config) tooLarge(size, packed int64) string {
	switch {
	case size < 0 || size > c.MaxMemberSize:
		return fmt.Sprintf("larger than max_member_size (%d bytes)", c.MaxMemberSize)
	case packed >= 0 && size > ratioFrom && size/c.MaxRatio > packed:
		return fmt.Sprintf("unpacks to more than max_ratio (%d) times its size: it looks like a zip bomb", c.MaxRatio)
	}
	return ""
}

// sourceError is an error of whoever gives the bytes.
type sourceError struct{ error }

// Unwrap gives the cause.
func (e *sourceError) Unwrap() error { return e.error }

// source marks the errors of r.
type source struct{ r io.ReaderAt }

// ReadAt implements io.ReaderAt.
func (s source) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.r.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &sourceError{err}
	}
	return n, err
}

// damaged classes an error of unpacking; those of the source pass.
func damaged(err error, what string) error {
	var own *sourceError
	if errors.As(err, &own) || connector.ClassOf(err) != connector.ClassUnknown {
		return err
	}
	return connector.Errorf(connector.ClassInvalid, "%s is damaged or cut short (%w): fetch the file again", what, err)
}
