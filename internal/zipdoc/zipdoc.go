// Package zipdoc opens documents that are zip files (office documents, books) and guards against those that unpack to more than anybody
// could want. The file is held in memory as it came; members are unpacked when they are asked for.
package zipdoc

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// Limits are the bounds of a package, all in bytes unless said otherwise. A zero means the default.
type Limits struct {
	// Input is the most bytes that the file may have. Default 256 MiB.
	Input int64
	// Member is the most that one member may unpack to. Default 256 MiB.
	Member int64
	// Total is the most that all reading together may unpack. Default 512 MiB.
	Total int64
	// Ratio is how many times its packed size a member of over 1 MiB may have. Default 1000.
	Ratio int64
	// Members is how many members there may be. Default 100,000.
	Members int
}

// ratioFrom is the size below which nobody asks how well a member was packed.
const ratioFrom = 1 << 20

func (l Limits) filled() Limits {
	set := func(v *int64, to int64) {
		if *v <= 0 {
			*v = to
		}
	}
	set(&l.Input, 256<<20)
	set(&l.Member, 256<<20)
	set(&l.Total, 512<<20)
	set(&l.Ratio, 1000)
	if l.Members <= 0 {
		l.Members = 100_000
	}
	return l
}

// Package is an open zip file. It is not safe for concurrent use.
type Package struct {
	limits Limits
	names  []string
	files  map[string]*zip.File
	folded map[string]string // lower-case names, where they differ
	read   int64             // unpacked so far
}

// Read reads r to its end and opens the zip file that it is. Errors of the file are of [connector.ClassInvalid] and say what to try; those
// of r are passed on.
func Read(r io.Reader, limits Limits) (*Package, error) {
	limits = limits.filled()
	data, err := io.ReadAll(io.LimitReader(r, limits.Input+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limits.Input {
		return nil, connector.Errorf(connector.ClassInvalid, "the file is larger than %d bytes: raise the limit, or divide it", limits.Input)
	}
	if len(data) == 0 {
		return nil, ErrEmpty
	}
	return Open(data, limits)
}

// ErrEmpty is the error of [Read] for a file without a byte, which some formats take for a document without content.
var ErrEmpty = connector.Errorf(connector.ClassInvalid, "the file is empty")

// Open opens the zip file that data is.
func Open(data []byte, limits Limits) (*Package, error) {
	p := &Package{limits: limits.filled(), files: map[string]*zip.File{}, folded: map[string]string{}}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, notZip(data, err)
	}
	if len(z.File) > p.limits.Members {
		return nil, connector.Errorf(connector.ClassInvalid, "the package has %d members, over %d: it is no document", len(z.File), p.limits.Members)
	}
	for _, f := range z.File {
		name, err := clean(f.Name)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(f.Name, "/") || name == "" {
			continue
		}
		if _, known := p.files[name]; !known {
			p.names = append(p.names, name)
			if low := strings.ToLower(name); low != name {
				p.folded[low] = name
			}
		}
		p.files[name] = f
	}
	return p, nil
}

// notZip says what data is instead.
func notZip(data []byte, err error) error {
	switch {
	case bytes.HasPrefix(data, []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")):
		return connector.Errorf(connector.ClassInvalid, "it is encrypted, or of an old binary format of Office: save it without a password in the format of its extension")
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return connector.Errorf(connector.ClassInvalid, "the package is cut short or damaged (%w): fetch the file again", err)
	}
	return connector.Errorf(connector.ClassInvalid, "it is no zip package (%w): its extension may be wrong", err)
}

// clean is a member's name as packages name their parts: slashes, none at its start. Names that lead out of the package are refused.
func clean(name string) (string, error) {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if strings.IndexByte(name, '\\') >= 0 {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	name = strings.TrimLeft(name, "/")
	if strings.Contains(name, "..") {
		for part := range strings.SplitSeq(name, "/") {
			if part == ".." {
				return "", connector.Errorf(connector.ClassInvalid, "the package names a member %.100q outside of itself: it is no document", name)
			}
		}
	}
	if name == "" {
		return "", nil
	}
	return path.Clean(name), nil
}

// Names are the members' names in the order of the archive, folders left out, each once.
func (p *Package) Names() []string { return p.names }

// Has says that there is a member of that name. Where none is, one that differs in case alone will do, as in the Open Packaging Conventions.
func (p *Package) Has(name string) bool { return p.find(name) != nil }

func (p *Package) find(name string) *zip.File {
	name = strings.TrimLeft(name, "/")
	if f := p.files[name]; f != nil {
		return f
	}
	low := strings.ToLower(name)
	if f := p.files[low]; f != nil {
		return f
	}
	return p.files[p.folded[low]]
}

// Size is how many bytes the archive says that a member unpacks to; -1 if there is none of that name.
func (p *Package) Size(name string) int64 {
	f := p.find(name)
	if f == nil {
		return -1
	}
	return int64(min(f.UncompressedSize64, 1<<62))
}

// ErrMissing is the cause of errors about members that are not there.
var ErrMissing = errors.New("the package lacks it")

// Open unpacks a member while it is read. Damage and what is over a limit are errors of the reader.
func (p *Package) Open(name string) (io.ReadCloser, error) {
	f := p.find(name)
	if f == nil {
		return nil, connector.Errorf(connector.ClassInvalid, "member %s: %w", name, ErrMissing)
	}
	if f.Flags&1 != 0 {
		return nil, connector.Errorf(connector.ClassInvalid, "member %s is encrypted: save the document without a password", name)
	}
	if err := p.allows(f, int64(min(f.UncompressedSize64, 1<<62))); err != nil {
		return nil, err
	}
	r, err := f.Open()
	if err != nil {
		return nil, connector.Errorf(connector.ClassInvalid, "member %s cannot be unpacked: %w", name, err)
	}
	return &member{p: p, f: f, r: r}, nil
}

// Bytes is a member as a whole.
func (p *Package) Bytes(name string) ([]byte, error) {
	r, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	// What the archive says of the size is not believed beyond what the packed bytes make likely.
	f := p.find(name)
	size := min(f.UncompressedSize64, 64*f.CompressedSize64+512)
	out := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := out.ReadFrom(r); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// allows says whether size bytes of f may be unpacked.
func (p *Package) allows(f *zip.File, size int64) error {
	packed := int64(min(f.CompressedSize64, 1<<40))
	switch {
	case size > p.limits.Member:
		return connector.Errorf(connector.ClassInvalid, "member %s unpacks to more than %d bytes: raise the limit if the file is sound", f.Name, p.limits.Member)
	case size > ratioFrom && size/p.limits.Ratio > packed:
		return connector.Errorf(connector.ClassInvalid, "member %s unpacks to more than %d times its size: it looks like a zip bomb", f.Name, p.limits.Ratio)
	case p.read+size > p.limits.Total:
		return connector.Errorf(connector.ClassInvalid, "the document unpacks to more than %d bytes: raise the limit if the file is sound", p.limits.Total)
	}
	return nil
}

// member is one that is being read.
type member struct {
	p *Package
	f *zip.File
	r io.ReadCloser
	n int64
}

// Read unpacks.
func (m *member) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	m.n += int64(n)
	if limit := m.p.allows(m.f, m.n); limit != nil {
		return 0, limit
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if errors.Is(err, zip.ErrChecksum) {
		err = fmt.Errorf("its checksum is wrong (%w)", err)
	}
	return n, connector.Errorf(connector.ClassInvalid, "member %s is damaged: %w: fetch the file again", m.f.Name, err)
}

// Close ends the reading.
func (m *member) Close() error {
	m.p.read += m.n
	m.n = 0
	return m.r.Close()
}
