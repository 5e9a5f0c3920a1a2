package convert

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/blocks"
)

// Service are the keys that every service over HTTP takes. Those that change how a document is fetched and not what comes back are no part
// of its fingerprint.
type Service struct {
	URL         string                      `yaml:"url" doc:"where the service is"`
	APIKey      connector.Secret            `yaml:"api_key" json:"-" doc:"the service's key, if it wants one; better env:NAME or file:PATH than the key itself"`
	Headers     map[string]connector.Secret `yaml:"headers" json:"-" doc:"further headers of the request, for gateways"`
	Timeout     time.Duration               `yaml:"timeout" json:"-" doc:"the longest time for one document"`
	MaxDocument int64                       `yaml:"max_document" json:"-" format:"size" doc:"documents over this size are an error"`
	MaxOutput   int64                       `yaml:"max_output" json:"-" format:"size" doc:"answers over this size are an error"`
	Concurrency int                         `yaml:"concurrency" json:"-" doc:"the most documents sent at a time"`
	Version     string                      `yaml:"version" doc:"any words that name the service's version and models: change them to have the documents converted again"`
}

func serviceDefaults(url string) Service {
	return Service{URL: url, Timeout: 5 * time.Minute, MaxDocument: 256 << 20, MaxOutput: 64 << 20, Concurrency: 2}
}

// Validate checks the common keys.
func (c *Service) Validate() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("url: want an address such as http://localhost:9998") // not quoted: it may hold a key
	case u.User != nil:
		return errors.New("url holds a user or password: use api_key or headers")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("url holds a query: give the address of the service alone")
	case c.Timeout <= 0 || c.MaxDocument <= 0 || c.MaxOutput <= 0 || c.Concurrency <= 0:
		return errors.New("timeout, max_document, max_output and concurrency must be more than 0")
	case !sendable(c.APIKey.Reveal()):
		return errors.New("api_key holds a line break, a space at an end, or a character that no header can carry")
	}
	for name, value := range c.Headers {
		switch http.CanonicalHeaderKey(name) {
		case "", "Host", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Accept-Encoding", "Connection":
			return fmt.Errorf("headers: %q cannot be set", name)
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r) }) {
			return fmt.Errorf("headers: %q is not the name of a header", name)
		}
		if !sendable(value.Reveal()) {
			return fmt.Errorf("headers: the value of %s holds a line break or a character that no header can carry", name)
		}
	}
	return nil
}

func sendable(value string) bool {
	return strings.TrimSpace(value) == value && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f })
}

// field is a field of a form, in order.
type field struct{ name, value string }

// api is how a service is asked and what its answers look like.
type api struct {
	kind    string
	auth    string // the header of the key; of Authorization it is a bearer token
	method  string
	path    string
	file    string // the name of the document's field in the form; empty: the document is the body
	fields  []field
	header  map[string]string
	output  string // the parser that reads the text of an answer
	spoiled bool   // the service answers 500 for a document that it cannot read
	// text takes the text out of an answer. left says what the service itself left out.
	text func(body []byte) (text []byte, left []string, err error)
	// blocks, in place of text, writes an answer that has elements of its own.
	blocks func(body []byte, w *blocks.Writer) error
}

// Parser reads documents through a service.
type Parser struct {
	api    api
	cfg    Service
	reader reader
	slots  slots
	client *client
}

var _ connector.Parser = (*Parser)(nil)

// openService opens a parser. Nothing is sent.
func openService(ctx context.Context, a api, cfg *Service, env connector.Env) (connector.Parser, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", a.kind, err)
	}
	p := &Parser{api: a, cfg: *cfg, slots: make(slots, cfg.Concurrency)}
	var err error
	if a.blocks == nil {
		if p.reader, err = openReader(ctx, env, a.output); err != nil {
			return nil, fmt.Errorf("%s: %w", a.kind, err)
		}
	}
	if p.client, err = newClient(&p.api, &p.cfg); err != nil {
		return nil, fmt.Errorf("%s: %w", a.kind, err)
	}
	return p, nil
}

// Info names the parser, with the version that the configuration gives.
func (p *Parser) Info() connector.ParserInfo { return p.reader.info(p.api.kind, p.cfg.Version) }

// Parse sends the document and yields what came back.
func (p *Parser) Parse(ctx context.Context, doc *connector.Document, r io.Reader) iter.Seq2[connector.Element, error] {
	return func(yield func(connector.Element, error) bool) {
		if err := p.parse(ctx, doc, r, yield); err != nil && !errors.Is(err, errStopped) && !errors.Is(err, blocks.ErrStopped) {
			yield(connector.Element{}, fmt.Errorf("%s: %w", p.api.kind, err))
		}
	}
}

func (p *Parser) parse(ctx context.Context, doc *connector.Document, r io.Reader, yield func(connector.Element, error) bool) error {
	in := bufio.NewReaderSize(r, 64<<10)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return nil // a document without a byte has no text
	} else if err != nil {
		return err
	}
	body, err := p.fetch(ctx, doc, in)
	if err != nil {
		return err
	}
	if p.api.blocks != nil {
		return p.write(ctx, body, yield)
	}
	text, left, err := p.api.text(body)
	if err != nil {
		return err
	}
	for _, what := range left {
		if !yield(connector.Element{Kind: connector.KindDropped, Reason: connector.DropLimit, Text: shorten(what)}, nil) {
			return errStopped
		}
	}
	return p.reader.elements(ctx, doc, text, yield)
}

// fetch has the document converted, when there is room.
func (p *Parser) fetch(ctx context.Context, doc *connector.Document, in io.Reader) ([]byte, error) {
	if err := p.slots.take(ctx); err != nil {
		return nil, err
	}
	defer p.slots.give()
	return p.client.convert(ctx, doc, in)
}

// write yields the elements of an answer that has its own.
func (p *Parser) write(ctx context.Context, body []byte, yield func(connector.Element, error) bool) error {
	shown := false
	w := blocks.NewWriter(ctx, func(el connector.Element, err error) bool {
		shown = shown || el.Kind != connector.KindDropped && hasText(el.Text)
		return yield(el, err)
	}, nil)
	if err := p.api.blocks(body, w); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if !shown {
		return noText()
	}
	return nil
}
