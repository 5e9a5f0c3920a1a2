// Package mail reads mail: single messages (.eml, RFC 5322 with MIME) as the text that they hold and the files that are attached, and mailboxes
// (.mbox) as the messages in them.
//
// # Config
//
// quoted and signatures say what becomes of quoted history and of what stands below a line "-- ". max_size bounds one message.
//
// # Limits
//
// One message is held in memory, a mailbox is not. What a signature proves is not looked at, and nothing is decrypted.
package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
	"github.com/kbsync/kbsync/internal/htmltext"
)

// DefaultMaxSize is the default of max_size, in bytes.
const DefaultMaxSize = 256 << 20

// Config is the configuration of the parser of messages.
type Config struct {
	MaxSize    int64  `yaml:"max_size" format:"size" doc:"a larger mail is an error"`
	Quoted     string `yaml:"quoted" enum:"fold,keep" doc:"whether what a mail quotes of those before it is left out"`
	Signatures string `yaml:"signatures" enum:"drop,keep" doc:"whether what stands below a line of two hyphens and a space is left out"`
}

// Validate checks the configuration.
func (c *Config) Validate() error {
	if c.MaxSize < 1 {
		return errors.New("max_size must be at least 1")
	}
	if c.Quoted != "fold" && c.Quoted != "keep" || c.Signatures != "drop" && c.Signatures != "keep" {
		return errors.New("quoted must be fold or keep, signatures must be drop or keep")
	}
	return nil
}

func defaults() Config { return Config{MaxSize: DefaultMaxSize, Quoted: "fold", Signatures: "drop"} }

// Parser reads messages.
type Parser struct{ cfg Config }

var _ connector.Container = (*Parser)(nil)

// Plugin is the registry entry of messages.
func Plugin() connector.ParserPlugin {
	return connector.Define("eml", "Mail (.eml): subject and text; what is attached are documents.", defaults(),
		func(_ context.Context, c *Config, _ connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("eml: %w", err)
			}
			return &Parser{cfg: *c}, nil
		})
}

// Info names the parser.
func (p *Parser) Info() connector.ParserInfo { return connector.ParserInfo{Name: "eml", Version: 1} }

// errStopped says that the consumer wants no more.
var errStopped = errors.New("stopped")

// Parse yields the subject as a heading and the text.
func (p *Parser) Parse(ctx context.Context, _ *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, r, yield); err != nil && !errors.Is(err, errStopped) {
			yield(connector.Element{}, fmt.Errorf("eml: %w", err))
		}
	}
}

// read is the message that r gives; nil if that is empty.
func (p *Parser) read(r io.Reader) (*message, error) {
	data, err := io.ReadAll(io.LimitReader(r, min(p.cfg.MaxSize, math.MaxInt64-1)+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > p.cfg.MaxSize {
		return nil, connector.Errorf(connector.ClassInvalid, "the mail is larger than %d bytes: raise max_size to have it read", p.cfg.MaxSize)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	return readMessage(data)
}

func (p *Parser) parse(ctx context.Context, r io.Reader, yield func(connector.Element, error) bool) error {
	m, err := p.read(r)
	if err != nil || m == nil {
		return err
	}
	w := &writer{ctx: ctx.Err, yield: yield, props: m.properties(), keepSignatures: p.cfg.Signatures == "keep", history: m.history(p.cfg.Quoted == "fold")}
	if len(w.props) == 0 {
		w.props = nil
	}
	if subject := w.cleaned(m.value(m.root.h, "subject")); subject != "" {
		w.send(connector.Element{Kind: connector.KindHeading, Level: 1, Title: subject, Text: subject + "\n\n"})
	}
	for _, f := range m.root.h {
		if !told(f.key) {
			w.drop(connector.DropMarkup, f.key+": "+m.words(f.raw))
		}
	}
	for _, pc := range m.pieces(m.root) {
		w.piece(pc)
	}
	for _, d := range w.clean.Dropped() {
		w.send(d.Element())
	}
	return w.err
}

// writer puts pieces one after another.
type writer struct {
	ctx            func() error
	yield          func(connector.Element, error) bool
	props          map[string]any
	history        history
	keepSignatures bool
	clean          decode.Cleaner
	pos, tables    int
	err            error
}

func (w *writer) cleaned(s string) string {
	return oneLine(w.clean.Clean(strings.ToValidUTF8(s, "\uFFFD")))
}

func (w *writer) piece(pc piece) {
	for _, el := range pc.drops {
		w.drop(el.Reason, el.Text)
	}
	if pc.html {
		w.page(pc.els)
		return
	}
	lines := strings.Split(strings.TrimRight(pc.plain, "\n"), "\n")
	var signature []string
	if i := w.signature(lines); i >= 0 {
		lines, signature = lines[:i], lines[i:]
	}
	for _, r := range w.history.plain(lines) {
		if r.quoted {
			w.drop(connector.DropQuoted, strings.Join(r.lines, "\n"))
			continue
		}
		w.text(strings.Join(r.lines, "\n"))
	}
	w.drop(connector.DropBoilerplate, strings.Join(signature, "\n"))
}

// maxSignature is how many lines a signature may have; more is text.
const maxSignature = 30

// signature is where the last signature of lines begins, or -1. A reply that stands below the signature goes before it.
func (w *writer) signature(lines []string) int {
	if w.keepSignatures {
		return -1
	}
	for i := len(lines) - 1; i > 0 && i >= len(lines)-maxSignature; i-- {
		if strings.HasPrefix(lines[i], ">") {
			return -1 // it is quoted, or has a quotation behind it
		}
		if lines[i] == "-- " || lines[i] == "--" {
			if strings.TrimSpace(strings.Join(lines[:i], "")) == "" {
				return -1
			}
			return i
		}
	}
	return -1
}

// text writes paragraphs.
func (w *writer) text(s string) {
	ps := decode.NewParagraphs(strings.NewReader(s))
	for w.err == nil {
		piece, err := ps.Next()
		if err != nil {
			return
		}
		if strings.TrimSpace(piece) == "" {
			continue
		}
		kind := connector.KindText
		if quotation(piece) {
			kind = connector.KindQuote
		}
		w.send(connector.Element{Kind: kind, Text: strings.TrimLeft(strings.TrimRight(piece, " \t\n"), "\n") + "\n\n"})
	}
}

// quotation says that each line is quoted.
func quotation(s string) bool {
	for l := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		if !strings.HasPrefix(l, ">") {
			return false
		}
	}
	return true
}

// page writes the elements of a page.
func (w *writer) page(els []connector.Element) {
	quoted, at := w.history.page(els)
	base, most := w.tables, w.tables
	for i, el := range els {
		switch {
		case el.Kind == connector.KindDropped:
			w.send(el)
			continue
		case quoted[i]:
			w.drop(connector.DropQuoted, el.Text)
			continue
		case at >= 0 && i+1 < len(els) && lastKept(quoted, els, i): // the history begins in its midst
			rest := el.Text[at:]
			el.Text = strings.TrimRight(el.Text[:at], " \n") + "\n\n"
			w.send(connector.Element{Kind: el.Kind, Text: el.Text})
			w.drop(connector.DropQuoted, rest)
			continue
		}
		one := []connector.Element{el}
		htmltext.Move(one, w.pos-el.Span.Start, base)
		if t := one[0].Table; t != nil {
			most = max(most, t.ID)
		}
		w.send(one[0])
	}
	w.tables = most
}

// lastKept says that no element behind i is kept.
func lastKept(quoted []bool, els []connector.Element, i int) bool {
	for k := i + 1; k < len(els); k++ {
		if els[k].Kind != connector.KindDropped && !quoted[k] {
			return false
		}
	}
	return true
}

// drop reports what is left out, in pieces if it is long.
func (w *writer) drop(reason connector.DropReason, s string) {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	for s != "" && w.err == nil {
		piece := decode.Clip(s)
		s = s[len(piece):]
		w.send(connector.Element{Kind: connector.KindDropped, Reason: reason, Text: piece})
	}
}

// send yields an element, whose place is the next one.
func (w *writer) send(el connector.Element) {
	if w.err != nil {
		return
	}
	if w.err = w.ctx(); w.err != nil {
		return
	}
	if el.Kind == connector.KindDropped {
		el.Span = connector.Span{Start: w.pos, End: w.pos}
	} else {
		el.Span = connector.Span{Start: w.pos, End: w.pos + len(el.Text)}
		w.pos = el.Span.End
		el.Properties, w.props = w.props, nil
	}
	if !w.yield(el, nil) {
		w.err = errStopped
	}
}
