package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

const tarBlock = 512

const notTar = "this is no tar archive: its first header does not parse"

// tarHeader says that a block is the header of a member, by its checksum: old archives have no other mark.
func tarHeader(b []byte) bool {
	if len(b) < tarBlock {
		return false
	}
	want, err := strconv.ParseInt(strings.Trim(string(b[148:156]), " \x00"), 8, 64)
	if err != nil {
		return false
	}
	unsigned, signed := int64(0), int64(0) // some programs sum signed bytes
	for i, c := range b[:tarBlock] {
		if i >= 148 && i < 156 {
			c = ' '
		}
		unsigned += int64(c)
		signed += int64(int8(c))
	}
	return (want == unsigned || want == signed) && b[0] != 0
}

func zeroBlock(b []byte) bool { return len(bytes.TrimRight(b, "\x00")) == 0 }

// checkTar reads the first header.
func checkTar(r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	if u, _, err := unpack(in); err != nil {
		return damaged(err, "the file")
	} else if u != nil {
		defer func() { _ = u.Close() }()
		in = bufio.NewReaderSize(u, 64<<10)
	}
	head, err := in.Peek(tarBlock)
	if err != nil && !errors.Is(err, io.EOF) {
		return damaged(err, "the file")
	}
	if !tarHeader(head) && (len(head) < tarBlock || !zeroBlock(head)) {
		return connector.Errorf(connector.ClassInvalid, "%s", notTar)
	}
	return nil
}

// listTar lists a tar file, packed or not.
func listTar(ctx context.Context, l *lister) error {
	head := make([]byte, tarBlock)
	n, err := l.r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if head = head[:n]; n == tarBlock && (tarHeader(head) || zeroBlock(head)) {
		return l.plainTar(ctx)
	}
	if err := checkTar(io.NewSectionReader(l.r, 0, l.size)); err != nil {
		return err
	}
	return listPacked(ctx, l)
}

// place is where a member of a tar file can be found again: so many members after the header at at.
type place struct {
	at   int64
	skip int
}

// plainTar lists a tar file that is not packed. A member is read again from the place of its header.
func (l *lister) plainTar(ctx context.Context) error {
	in := io.NewSectionReader(l.r, 0, l.size)
	all, err := l.walk(ctx, in, func() int64 {
		pos, _ := in.Seek(0, io.SeekCurrent) // cannot fail
		return pos
	}, nil)
	if err != nil {
		return err
	}
	return l.send(ctx, all)
}

func (l *lister) openAt(p place) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) {
		t := tar.NewReader(io.NewSectionReader(l.r, p.at, l.size-p.at))
		for range p.skip + 1 {
			if _, err := t.Next(); err != nil && !errors.Is(err, tar.ErrInsecurePath) {
				return nil, damaged(err, "the archive")
			}
		}
		return &checked{io.NopCloser(t)}, nil
	}
}

// packedTar lists the tar file that in gives, and keeps what its members hold.
func (l *lister) packedTar(ctx context.Context, in io.Reader) error {
	s := &spool{}
	all, err := l.walk(ctx, in, func() int64 { return 0 }, s)
	if err == nil { // what follows the last member is checked, too
		if _, err = io.Copy(io.Discard, contextReader{ctx, in}); err != nil {
			err = damaged(err, "the archive")
		}
	}
	if err != nil {
		s.drop()
		return err
	}
	return l.send(ctx, all)
}

// walk reads the members of a tar file, for their digests. pos is where in stands. Without a spool they are read again from in's file.
func (l *lister) walk(ctx context.Context, in io.Reader, pos func() int64, s *spool) ([]found, error) {
	var all []found
	t := tar.NewReader(in)
	var next place
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return nil, damaged(err, "the archive")
		}
		here, read := next, false
		if regular(h) {
			m, err := l.tarMember(ctx, t, h, len(all), s)
			if err != nil {
				return nil, err
			}
			if read = m.Reason == ""; read && s == nil {
				m.Open = l.openAt(here)
			}
			all = append(all, m)
		}
		switch {
		case read:
			next = place{at: padded(pos())}
		case h.Size == 0 || regular(h) && !sparse(h):
			next = place{at: padded(pos() + h.Size)}
		default:
			next.skip++ // how many bytes it takes only the reader knows
		}
	}
}

func padded(n int64) int64 { return (n + tarBlock - 1) / tarBlock * tarBlock }

func regular(h *tar.Header) bool {
	return h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeCont || h.Typeflag == tar.TypeGNUSparse
}

func sparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}

// tarMember reads the member at which t stands, the nth.
func (l *lister) tarMember(ctx context.Context, t *tar.Reader, h *tar.Header, n int, s *spool) (found, error) {
	m := found{raw: h.Name, Member: connector.Member{Size: h.Size, ModifiedAt: h.ModTime, Version: fmt.Sprintf("over-%d-%d", h.Size, h.ModTime.Unix())}}
	if h.ModTime.Unix() <= 0 {
		m.ModifiedAt = time.Time{}
	}
	if m.Reason = l.cfg.tooLarge(h.Size, -1); m.Reason != "" {
		return m, l.count(n, 0)
	}
	if err := l.count(n, h.Size); err != nil {
		return m, err
	}
	if l.total > ratioFrom && l.total/l.cfg.MaxRatio > l.size {
		return m, connector.Errorf(connector.ClassInvalid, "the archive unpacks to more than max_ratio (%d) times its size: it looks like a zip bomb", l.cfg.MaxRatio)
	}
	sum := sha256.New()
	w := io.Writer(sum)
	if s != nil {
		w = io.MultiWriter(sum, s)
		start := s.n
		m.Open = func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(io.NewSectionReader(s, start, h.Size)), nil
		}
	}
	if _, err := io.Copy(w, contextReader{ctx, t}); err != nil {
		return m, damaged(err, "the archive")
	}
	m.Version = version(sum.Sum(nil))
	return m, nil
}
