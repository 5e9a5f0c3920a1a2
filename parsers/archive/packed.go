package archive

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/kbsync/kbsync/connector"
)

// maxWindow bounds the memory of one zstd reader.
const maxWindow = 128 << 20

// packings are the methods by which a whole file is packed, by its first bytes.
type packing struct {
	magic string
	ext   string // what the name of a packed file has more than that of the file
	open  func(r io.Reader) (*unpacked, error)
}

func packings() []packing {
	return []packing{
		{"\x1F\x8B", ".gz", openGzip},
		{"BZh", ".bz2", func(r io.Reader) (*unpacked, error) { return &unpacked{Reader: bzip2.NewReader(r)}, nil }},
		{"\x28\xB5\x2F\xFD", ".zst", openZstd},
	}
}

// unpacked is the content of a packed file.
type unpacked struct {
	io.Reader
	close func()
	name  string    // as the packed file has it, in bytes
	at    time.Time // zero: unknown
}

func openGzip(r io.Reader) (*unpacked, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	name := make([]byte, 0, len(z.Name))
	for _, c := range z.Name { // package gzip takes it for Latin-1, which it seldom is
		name = append(name, byte(c))
	}
	return &unpacked{Reader: z, name: string(name), at: z.ModTime}, nil
}

func openZstd(r io.Reader) (*unpacked, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return &unpacked{Reader: z, close: z.Close}, nil
}

// Close lets go of buffers.
func (u *unpacked) Close() error {
	if u.close != nil {
		u.close()
	}
	return nil
}

// unpack opens what r is packed by; nil if it is not packed.
func unpack(r io.Reader) (u *unpacked, ext string, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	for _, p := range packings() {
		if bytes.HasPrefix(head, []byte(p.magic)) {
			u, err := p.open(in)
			return u, p.ext, err
		}
	}
	return nil, "", nil
}

// checkPacked unpacks the first bytes.
func checkPacked(r io.Reader) error {
	u, _, err := unpack(r)
	switch {
	case err != nil:
		return damaged(err, "the file")
	case u == nil:
		return connector.Errorf(connector.ClassInvalid, "the file is not packed by gzip, bzip2 or zstd: its extension may be wrong")
	}
	defer func() { _ = u.Close() }()
	if _, err := u.Read(make([]byte, 512)); err != nil && !errors.Is(err, io.EOF) {
		return damaged(err, "the file")
	}
	return nil
}

// guard ends a stream that unpacks to too much.
type guard struct {
	r     io.Reader
	l     *lister
	n     int64
	limit int64
}

// Read implements io.Reader.
func (g *guard) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	g.n += int64(n)
	switch {
	case g.n > g.limit:
		return 0, connector.Errorf(connector.ClassInvalid, "the archive unpacks to more than %d bytes: raise max_total to have it read", g.l.cfg.MaxTotal)
	case g.n > ratioFrom && g.n/g.l.cfg.MaxRatio > g.l.size:
		return 0, connector.Errorf(connector.ClassInvalid, "the archive unpacks to more than max_ratio (%d) times its size: it looks like a zip bomb", g.l.cfg.MaxRatio)
	}
	return n, err
}

// open unpacks the archive from its start; nil if it is not packed.
func (l *lister) open() (*unpacked, string, error) {
	return unpack(io.NewSectionReader(l.r, 0, l.size))
}

// listPacked lists a packed file: what the tar file within holds, or the file itself.
func listPacked(ctx context.Context, l *lister) error {
	u, ext, err := l.open()
	if err != nil {
		return damaged(err, "the file")
	}
	if u == nil {
		return checkPacked(io.NewSectionReader(l.r, 0, l.size))
	}
	defer func() { _ = u.Close() }()
	// A tar file has headers beside its content.
	in := bufio.NewReaderSize(&guard{r: u, l: l, limit: l.cfg.MaxTotal + l.cfg.MaxTotal/8 + 4096*int64(l.cfg.MaxMembers)}, 64<<10)
	head, err := in.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return damaged(err, "the file")
	}
	if tarHeader(head) {
		return l.packedTar(ctx, in)
	}
	return l.single(ctx, u, ext, in)
}

// single is the one file in a packed file. It is unpacked once to know its size and digest, and again by whoever reads it.
func (l *lister) single(ctx context.Context, u *unpacked, ext string, in io.Reader) error {
	m := found{raw: l.singleName(u.name, ext), Member: connector.Member{ModifiedAt: u.at}}
	m.Size = -1
	sum := sha256.New()
	n, err := io.Copy(sum, contextReader{ctx, io.LimitReader(in, l.cfg.MaxMemberSize+1)})
	switch {
	case err != nil:
		return damaged(err, "the file")
	case n > l.cfg.MaxMemberSize:
		m.Reason, m.Version = l.cfg.tooLarge(n, -1), fmt.Sprintf("over-%d", l.size)
	default:
		m.Size, m.Version = n, version(sum.Sum(nil))
	}
	if err := l.count(0, min(n, l.cfg.MaxMemberSize)); err != nil {
		return err
	}
	m.Open = func(context.Context) (io.ReadCloser, error) {
		u, _, err := l.open()
		if err != nil {
			return nil, damaged(err, "the file")
		}
		if u == nil {
			return nil, connector.Errorf(connector.ClassChanged, "the file is another than was listed")
		}
		return &checked{u}, nil
	}
	return l.send(ctx, []found{m})
}

// singleName is the name of the file in a packed file: the one that the packed file has, or its own without the extension.
func (l *lister) singleName(stored, ext string) string {
	if stored = path.Base(strings.ReplaceAll(stored, `\`, "/")); stored != "." && stored != "/" {
		return stored
	}
	name := path.Base(l.doc.Path)
	low := strings.ToLower(name)
	for _, t := range [][2]string{{".tgz", ".tar"}, {".tbz2", ".tar"}, {".tzst", ".tar"}, {ext, ""}, {".gzip", ""}} {
		if strings.HasSuffix(low, t[0]) && len(name) > len(t[0]) {
			return name[:len(name)-len(t[0])] + t[1]
		}
	}
	return name
}

// version is that of a content with the digest sum.
func version(sum []byte) string { return "sha256-" + hex.EncodeToString(sum[:20]) }

// contextReader stops when ctx ends.
type contextReader struct {
	ctx context.Context //nolint:containedctx // it lives within one call
	r   io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, &sourceError{err}
	}
	return r.r.Read(p)
}
