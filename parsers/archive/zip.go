package archive

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/kbsync/kbsync/connector"
)

// Methods of packing that zip files name, beside those of package zip.
const (
	methodBzip2 = 12
	methodZstd  = 93
)

// zipTail is how far from the end the end of the directory may stand: its own 22 bytes and a comment.
const zipTail = 22 + 1<<16

const notZip = "this is no zip archive, or its end is missing: fetch the file again"

// checkZip looks for the end of the directory.
func checkZip(r io.Reader) error {
	var tail []byte
	buf := make([]byte, zipTail)
	for {
		n, err := r.Read(buf)
		tail = append(tail, buf[:n]...)
		if len(tail) > 4*zipTail {
			tail = append(tail[:0], tail[len(tail)-zipTail:]...)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if !bytes.Contains(tail[max(0, len(tail)-zipTail):], []byte("PK\x05\x06")) {
		return connector.Errorf(connector.ClassInvalid, "%s", notZip)
	}
	return nil
}

// listZip lists a zip file. Its directory bounds what is read: nothing is unpacked.
func listZip(ctx context.Context, l *lister) error {
	in := &bounded{r: l.r, left: 1<<20 + 256*int64(l.cfg.MaxMembers)}
	z, err := zip.NewReader(in, l.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.EOF) {
			return connector.Errorf(connector.ClassInvalid, "%s (%w)", notZip, err)
		}
		return damaged(err, "the archive")
	}
	in.left = -1
	z.RegisterDecompressor(methodBzip2, func(r io.Reader) io.ReadCloser { return io.NopCloser(bzip2.NewReader(r)) })
	z.RegisterDecompressor(methodZstd, zstd.ZipDecompressor(zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow)))
	var all []found
	for _, f := range z.File {
		mode := f.Mode()
		if strings.HasSuffix(f.Name, "/") || mode.IsDir() || mode&(fs.ModeSymlink|fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0 {
			continue
		}
		m := l.zipMember(f)
		size := m.Size
		if m.Reason != "" {
			size = 0
		}
		if err := l.count(len(all), size); err != nil {
			return err
		}
		all = append(all, m)
	}
	if err := apart(z.File); err != nil {
		return err
	}
	return l.send(ctx, all)
}

// zipMember is what the directory says of a member.
func (l *lister) zipMember(f *zip.File) found {
	size, packed := int64(min(f.UncompressedSize64, 1<<62)), int64(min(f.CompressedSize64, 1<<62))
	m := found{raw: f.Name, Member: connector.Member{
		Version: fmt.Sprintf("%08x-%d-%d-%d", f.CRC32, f.UncompressedSize64, f.CompressedSize64, f.Modified.Unix()), Size: size,
	}}
	if name := unicodePath(f.Name, f.Extra); name != "" {
		m.raw = name
	}
	if f.Modified.Year() >= 1980 { // the format's first year
		m.ModifiedAt = f.Modified
	}
	m.Reason = l.cfg.tooLarge(size, packed)
	switch {
	case f.Flags&1 != 0 || f.Method == 99:
		m.Reason = "encrypted"
	case f.Method != zip.Store && f.Method != zip.Deflate && f.Method != methodBzip2 && f.Method != methodZstd:
		m.Reason = fmt.Sprintf("packed by a method that is not read (number %d)", f.Method)
	case m.Reason == "":
		if _, err := f.DataOffset(); err != nil {
			m.Reason = fmt.Sprintf("damaged: its header does not parse (%v)", err)
		}
	}
	m.Open = func(context.Context) (io.ReadCloser, error) {
		r, err := f.Open()
		if err != nil {
			return nil, damaged(err, "the member")
		}
		return &checked{r}, nil
	}
	return m
}

// apart refuses archives whose members share bytes: those unpack to far more than their size by listing the same bytes again and again.
func apart(files []*zip.File) error {
	type extent struct {
		start, end int64
		name       string
	}
	var all []extent
	for _, f := range files {
		start, err := f.DataOffset()
		if err != nil || f.CompressedSize64 == 0 {
			continue // it was listed as damaged, or takes no room
		}
		all = append(all, extent{start, start + int64(min(f.CompressedSize64, 1<<62)), f.Name})
	}
	slices.SortFunc(all, func(a, b extent) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(all); i++ {
		if all[i].start < all[i-1].end {
			return connector.Errorf(connector.ClassInvalid, "the members %.100q and %.100q overlap: the archive is damaged, or a zip bomb", all[i-1].name, all[i].name)
		}
	}
	return nil
}

// bounded reads no more than left bytes, unless that is negative.
type bounded struct {
	r    io.ReaderAt
	left int64
}

// ReadAt implements io.ReaderAt.
func (b *bounded) ReadAt(p []byte, off int64) (int, error) {
	if b.left >= 0 {
		if b.left -= int64(len(p)); b.left < 0 {
			b.left = 0
			return 0, connector.Errorf(connector.ClassInvalid, "the directory of the archive is too long: raise max_members to have it read")
		}
	}
	return b.r.ReadAt(p, off)
}

// checked classes the errors of unpacking.
type checked struct{ io.ReadCloser }

// Read implements io.Reader.
func (c *checked) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if errors.Is(err, zip.ErrChecksum) {
		err = fmt.Errorf("its checksum is wrong: %w", err)
	}
	return n, damaged(err, "the member")
}
