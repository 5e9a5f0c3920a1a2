package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// client sends documents to a service. It follows no redirect, so that no document reaches a host that was not configured, and keeps no
// connection: one that went stale would spoil a document, since its bytes can be sent only once.
type client struct {
	api  *api
	cfg  *Service
	url  string
	host string
	http http.Client
}

func newClient(a *api, cfg *Service) (*client, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("url is not an address")
	}
	return &client{
		api: a, cfg: cfg, host: u.Host, url: u.JoinPath(a.path).String(),
		http: http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// convert sends a document and returns the answer.
func (c *client) convert(ctx context.Context, doc *connector.Document, in io.Reader) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	up := &upload{client: c, name: path.Base(doc.Path), media: doc.MediaType, in: in, left: c.cfg.MaxDocument}
	body, err := up.send(limited)
	switch {
	case up.fault != nil: // the document could not be read, whatever the service says
		return nil, up.fault
	case err == nil:
		return body, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, connector.Errorf(connector.ClassTransient, "%s did not answer within timeout (%s): raise it, or give the service more room", c.host, c.cfg.Timeout)
	}
	return nil, err
}

// upload is one document on its way.
type upload struct {
	client *client
	name   string
	media  string
	in     io.Reader
	left   int64
	fault  error // of reading the document
}

// send streams the document and reads the answer. The document is no longer read when it returns.
func (u *upload) send(ctx context.Context) ([]byte, error) {
	c := u.client
	pr, pw := io.Pipe()
	req, err := http.NewRequestWithContext(ctx, c.api.method, c.url, pr)
	if err != nil {
		return nil, connector.Errorf(connector.ClassUnsupported, "url is not an address")
	}
	c.authorize(req.Header)
	write := u.plain
	if c.api.file == "" {
		if u.media != "" {
			req.Header.Set("Content-Type", u.media)
		}
		req.Header.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": u.name}))
	} else {
		form := multipart.NewWriter(pw)
		req.Header.Set("Content-Type", form.FormDataContentType())
		write = func(io.Writer) error { return u.form(form) }
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = pw.CloseWithError(write(pw))
	}()
	body, err := c.answer(req)
	_ = pr.CloseWithError(errStopped)
	<-done
	if err == nil && u.fault == nil { // an answer may come before the document's end was read
		if _, cerr := io.Copy(io.Discard, u); cerr != nil && u.fault == nil {
			u.fault = cerr
		}
	}
	return body, err
}

func (u *upload) plain(w io.Writer) error {
	_, err := io.Copy(w, u)
	return err
}

// form writes the fields and the document.
func (u *upload) form(form *multipart.Writer) error {
	for _, f := range u.client.api.fields {
		if err := form.WriteField(f.name, f.value); err != nil {
			return err
		}
	}
	media := u.media
	if media == "" {
		media = "application/octet-stream"
	}
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition(u.client.api.file, u.name)}, "Content-Type": {media},
	})
	if err != nil {
		return err
	}
	if err := u.plain(part); err != nil {
		return err
	}
	return form.Close()
}

// Read reads the document, up to its limit, and notes what went wrong with it.
func (u *upload) Read(b []byte) (int, error) {
	if u.fault != nil {
		return 0, u.fault
	}
	n, err := u.in.Read(b)
	if u.left -= int64(n); u.left < 0 {
		err = tooLarge(u.client.cfg.MaxDocument)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		u.fault = err
	}
	return n, err
}

func (c *client) authorize(h http.Header) {
	h.Set("User-Agent", "kbsync")
	for name, value := range c.api.header {
		h.Set(name, value)
	}
	if key := c.cfg.APIKey.Reveal(); key != "" {
		if c.api.auth == "Authorization" {
			key = "Bearer " + key
		}
		h.Set(c.api.auth, key)
	}
	for name, value := range c.cfg.Headers {
		h.Set(name, value.Reveal())
	}
}

// answer sends the request and reads what comes back, up to max_output.
func (c *client) answer(req *http.Request) ([]byte, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		said, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		if err != nil {
			said = nil
		}
		return nil, c.refused(resp, said)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.cfg.MaxOutput+1))
	if err != nil {
		return nil, connector.Errorf(connector.ClassTransient, "the answer of %s broke off after %d bytes: %w", c.host, len(body), err)
	}
	if int64(len(body)) > c.cfg.MaxOutput {
		return nil, tooMuch(c.cfg.MaxOutput)
	}
	return body, nil
}

// redact hides the configured secrets in a service's words.
func (c *client) redact(s string) string {
	secrets := []connector.Secret{c.cfg.APIKey}
	for _, v := range c.cfg.Headers {
		secrets = append(secrets, v)
		if _, token, ok := strings.Cut(v.Reveal(), " "); ok { // Bearer …
			secrets = append(secrets, connector.Secret(token))
		}
	}
	for _, secret := range secrets {
		if len(secret) >= 4 { // shorter ones cannot be told from a word
			s = strings.ReplaceAll(s, secret.Reveal(), "***")
		}
	}
	return s
}

// malformed is the error for an answer that is not what the service's interface says.
func malformed(format string, args ...any) error {
	return connector.Errorf(connector.ClassUnsupported, "the answer is not what this service gives: %s; check that url leads to it", fmt.Sprintf(format, args...))
}
