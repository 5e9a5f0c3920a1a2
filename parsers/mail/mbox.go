package mail

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// DefaultMaxMessages is the default of max_members of mailboxes.
const DefaultMaxMessages = 100_000

// MailboxConfig is the configuration of the parser of mailboxes.
type MailboxConfig struct {
	MaxMembers int   `yaml:"max_members" doc:"a mailbox of more messages is an error"`
	MaxSize    int64 `yaml:"max_size" format:"size" doc:"a larger mail is left out"`
}

// Validate checks the configuration.
func (c *MailboxConfig) Validate() error {
	if c.MaxMembers < 1 || c.MaxSize < 1 {
		return errors.New("max_members and max_size must be at least 1")
	}
	return nil
}

// Mailbox lists the messages of mailboxes.
type Mailbox struct{ cfg MailboxConfig }

var _ connector.Container = (*Mailbox)(nil)

// MailboxPlugin is the registry entry of mailboxes.
func MailboxPlugin() connector.ParserPlugin {
	return connector.Define("mbox", "Mailboxes (.mbox): each message is a document.", MailboxConfig{MaxMembers: DefaultMaxMessages, MaxSize: DefaultMaxSize},
		func(_ context.Context, c *MailboxConfig, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("mbox: %w", err)
			}
			return &Mailbox{cfg: *c}, nil
		})
}

// Info names the parser.
func (b *Mailbox) Info() connector.ParserInfo { return connector.ParserInfo{Name: "mbox", Version: 1} }

// Parse yields nothing but an error, if this is no mailbox.
func (b *Mailbox) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		in := bufio.NewReaderSize(r, lineBuffer)
		err := mailbox(in)
		if _, rest := io.Copy(io.Discard, in); rest != nil {
			err = rest
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(connector.Element{}, fmt.Errorf("mbox: %w", err))
		}
	}
}

// lineBuffer is how much of a line is looked at.
const lineBuffer = 64 << 10

// mailbox looks at the first line that is not empty.
func mailbox(in *bufio.Reader) error {
	for {
		line, err := in.ReadSlice('\n')
		empty := len(bytes.TrimSpace(line)) == 0
		switch {
		case errors.Is(err, io.EOF) && empty: // nothing is in it
			return nil
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull):
			return err
		case empty:
		case fromLine(line):
			return nil
		default:
			return connector.Errorf(connector.ClassInvalid, "this is no mailbox: it does not begin with a line such as \"From someone Mon Jan  1 00:00:00 2024\"")
		}
	}
}

var fromPattern = regexp.MustCompile(`^From .{0,500}\d\d:\d\d.{0,60}\d{4}`)

// fromLine says that a line begins a message.
func fromLine(line []byte) bool {
	return bytes.HasPrefix(line, []byte("From ")) && fromPattern.Match(line[:min(len(line), 1024)])
}

// Members yields the messages.
func (b *Mailbox) Members(ctx context.Context, _ *connector.Document, r io.ReaderAt, size int64) iter.Seq2[connector.Member, error] {
	return func(yield func(connector.Member, error) bool) {
		s := &boxScanner{ctx: ctx, cfg: &b.cfg, r: r, size: size, names: names{}, yield: yield}
		if err := s.run(); err != nil && !errors.Is(err, errStopped) {
			yield(connector.Member{}, fmt.Errorf("mbox: %w", err))
		}
	}
}

// boxScanner reads a mailbox line by line.
type boxScanner struct {
	ctx   context.Context //nolint:containedctx // it lives within one call
	cfg   *MailboxConfig
	r     io.ReaderAt
	size  int64
	names names
	yield func(connector.Member, error) bool
	count int
}

// maxHead bounds the header of a message, as far as it is looked at for a name.
const maxHead = 256 << 10

func (s *boxScanner) run() error {
	if err := mailbox(bufio.NewReaderSize(io.NewSectionReader(s.r, 0, s.size), lineBuffer)); err != nil {
		return err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(s.r, 0, s.size), lineBuffer)
	pos, start := int64(0), int64(-1) // start of the message: behind its From line
	blank, whole := true, true        // the line before was empty; it ended
	counted := int64(-1)              // where the message ends by its Content-Length
	var head []byte
	inHead := false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		begins := whole && pos >= counted && (blank || counted >= 0) && fromLine(line)
		if begins {
			if err := s.message(start, pos, head, counted >= 0); err != nil {
				return err
			}
			start, head, inHead, counted = pos+int64(len(line)), nil, true, -1
		}
		pos += int64(len(line))
		empty := whole && len(bytes.TrimRight(line, "\r\n")) == 0
		if inHead && !begins {
			if len(head)+len(line) <= maxHead {
				head = append(head, line...)
			}
			if empty {
				inHead = false
				counted = s.counted(head, pos)
			}
		}
		blank, whole = empty, len(line) > 0 && line[len(line)-1] == '\n'
		if errors.Is(err, io.EOF) {
			return s.message(start, s.size, head, counted >= 0)
		}
	}
}

// counted is where a message ends whose header says how long it is, if what stands there bears that out; else -1.
func (s *boxScanner) counted(head []byte, body int64) int64 {
	h, _ := parseHeader(head)
	n, err := strconv.ParseInt(h.get("content-length"), 10, 64)
	if err != nil || n < 0 || n > s.size-body {
		return -1
	}
	next := make([]byte, 1024)
	k, err := s.r.ReadAt(next, body+n)
	if err != nil && !errors.Is(err, io.EOF) {
		return -1
	}
	next = bytes.TrimLeft(next[:k], "\r\n")
	if len(next) == 0 && body+n+int64(k) >= s.size || fromLine(next) {
		return body + n
	}
	return -1
}

// message yields the message between start and end.
func (s *boxScanner) message(start, end int64, head []byte, counted bool) error {
	if start < 0 {
		return nil
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.count++; s.count > s.cfg.MaxMembers {
		return connector.Errorf(connector.ClassInvalid, "the mailbox holds more than %d messages: raise max_members to have it read", s.cfg.MaxMembers)
	}
	end, err := s.beforeBlank(start, end)
	if err != nil {
		return err
	}
	content := func() io.Reader { return unquoteFrom(io.NewSectionReader(s.r, start, end-start), counted) }
	sum := sha256.New()
	n, err := io.Copy(sum, content())
	if err != nil {
		return err
	}
	digest := sum.Sum(nil)
	m := connector.Member{Version: version(digest), Size: n, MediaType: "message/rfc822"}
	var at time.Time
	m.Path, at = messageName(head, digest)
	m.Path, m.ModifiedAt = s.names.unique(m.Path), at
	if n > s.cfg.MaxSize {
		m.Reason = fmt.Sprintf("larger than max_size (%d bytes)", s.cfg.MaxSize)
	} else {
		m.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(content()), nil }
	}
	if !s.yield(m, nil) {
		return errStopped
	}
	return nil
}

// beforeBlank is end without the blank line that divides messages, which the last one need not have.
func (s *boxScanner) beforeBlank(start, end int64) (int64, error) {
	tail := make([]byte, min(end-start, 4))
	if _, err := s.r.ReadAt(tail, end-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	switch {
	case bytes.HasSuffix(tail, []byte("\n\r\n")):
		return end - 2, nil
	case bytes.HasSuffix(tail, []byte("\n\n")):
		return end - 1, nil
	}
	return end, nil
}

// messageName is made from what does not change when other messages come and go: date, subject and a digest of the message's identity.
func messageName(head, digest []byte) (string, time.Time) {
	h, _ := parseHeader(head)
	m := &message{root: &part{h: h}}
	m.charset = charsetOfHeader(head, h)
	name := ""
	at, ok := m.date()
	if ok {
		name = at.UTC().Format("20060102") + "-"
	}
	if subject := slug(m.value(h, "subject")); subject != "" {
		name += subject + "-"
	}
	if id := h.get("message-id"); id != "" {
		sum := sha256.Sum256([]byte(id))
		digest = sum[:]
	}
	return name + hex.EncodeToString(digest[:4]) + ".eml", at
}

// fromUnquoter takes the ">" away that was put before lines that begin with "From ".
type fromUnquoter struct {
	in    *bufio.Reader
	inRow bool // within a line
	out   []byte
	err   error
}

func unquoteFrom(r io.Reader, keep bool) io.Reader {
	if keep { // a mailbox that counts does not quote
		return r
	}
	return &fromUnquoter{in: bufio.NewReaderSize(r, lineBuffer)}
}

// Read implements io.Reader.
func (u *fromUnquoter) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.out, u.err = u.in.ReadSlice('\n')
		if errors.Is(u.err, bufio.ErrBufferFull) {
			u.err = nil
		}
		if n := len(u.out); n > 0 {
			if !u.inRow && u.out[0] == '>' && bytes.HasPrefix(bytes.TrimLeft(u.out, ">"), []byte("From ")) {
				u.out = u.out[1:]
			}
			u.inRow = u.out[len(u.out)-1] != '\n'
		}
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}
