package httpsource

import (
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

const (
	maxPage  = 8 << 20 // how much of a page is searched for links
	maxLinks = 20_000  // links of one page
)

// found is what a page says to robots. References are as they stand.
type found struct {
	directives
	base, canonical string
	links           []link
}

type link struct {
	href     string
	nofollow bool
}

func isPage(media string) bool { return media == "text/html" || media == "application/xhtml+xml" }

// readPage takes the links of the first maxPage bytes of a page.
func readPage(r io.Reader, contentType, robot string) (*found, error) {
	fault := &faults{r: io.LimitReader(r, maxPage)}
	out := &found{}
	text, err := charset.NewReader(fault, contentType)
	if err != nil { // an empty page, or a fault
		return out, fault.err
	}
	z := html.NewTokenizer(text)
	z.SetMaxBuf(maxPage)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out, fault.err
		case html.StartTagToken, html.SelfClosingTagToken:
			out.tag(z, robot)
		}
	}
}

// faults remembers why the reader that it wraps ended.
type faults struct {
	r   io.Reader
	err error
}

func (f *faults) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

func (f *found) tag(z *html.Tokenizer, robot string) {
	name, more := z.TagName()
	tag := atom.Lookup(name)
	switch tag {
	case atom.A, atom.Area, atom.Frame, atom.Iframe, atom.Base, atom.Link, atom.Meta:
	default:
		return
	}
	var href, src, rel, metaName, content string
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "href":
			href = string(value)
		case "src":
			src = string(value)
		case "rel":
			rel = strings.ToLower(string(value))
		case "name":
			metaName = strings.ToLower(string(value))
		case "content":
			content = string(value)
		}
	}
	rels := strings.Fields(rel)
	has := func(word string) bool {
		for _, r := range rels {
			if r == word {
				return true
			}
		}
		return false
	}
	switch tag {
	case atom.A, atom.Area:
		f.link(href, has("nofollow"))
	case atom.Frame, atom.Iframe:
		f.link(src, false)
	case atom.Base:
		if f.base == "" {
			f.base = strings.TrimSpace(href)
		}
	case atom.Link:
		if has("canonical") && f.canonical == "" {
			f.canonical = href
		}
	case atom.Meta:
		if metaName == "robots" || robot != "" && metaName == robot {
			f.read(content, robot)
		}
	}
}

func (f *found) link(href string, nofollow bool) {
	if href == "" || strings.HasPrefix(href, "#") || len(href) > 4*maxURL || len(f.links) >= maxLinks {
		return
	}
	f.links = append(f.links, link{href, nofollow})
}
