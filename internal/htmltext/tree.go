package htmltext

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/decode"
)

// maxDepth bounds the stack of open elements, and with it the cost of finding the one that an end tag closes.
const maxDepth = 200

// node is an element or, with class 0 and no tag, a piece of text.
type node struct {
	tag    atom.Atom
	class  class
	text   string
	reason connector.DropReason // why the whole node may be left out; empty if it stays
	lang   string               // programming language of preformatted text
	role   string
	kids   []*node
	span   [2]uint16 // rowspan, colspan
	start  int       // of an ordered list
	link   bool      // text of a link

	// Found by measure.
	size    int // bytes of text that are no white space, without what is always left out
	heads   int // headings inside
	h1      bool
	complex bool // holds blocks that a list item or table cell cannot show
}

func (n *node) isText() bool { return n.tag == 0 && n.class == classInline }

// builder makes a tree of the elements that matter to the structure of the text. It is no HTML 5 tree: inline
// elements are not in it, and text is never moved. Its cost is linear.
type builder struct {
	tz     *html.Tokenizer
	root   *node
	stack  []*node
	link   bool // inside a link
	hidden int  // open inline elements that are hidden; inside them inline elements are tracked
	xml    bool
	title  string
	clean  decode.Cleaner
	block  []node // the next nodes come from here
}

// make allocates nodes by the block.
func (b *builder) make(n node) *node {
	if len(b.block) == 0 {
		b.block = make([]node, 64)
	}
	p := &b.block[0]
	b.block = b.block[1:]
	*p = n
	return p
}

func newBuilder(src string) *builder {
	root := &node{tag: atom.Html, class: classBlock}
	return &builder{
		tz: html.NewTokenizer(strings.NewReader(src)), root: root, stack: []*node{root},
		xml: strings.HasPrefix(strings.TrimSpace(src[:min(len(src), 100)]), "<?xml"),
	}
}

func (b *builder) top() *node { return b.stack[len(b.stack)-1] }

func (b *builder) add(n *node) { b.top().kids = append(b.top().kids, n) }

func (b *builder) build() {
	for {
		switch b.tz.Next() {
		case html.ErrorToken:
			// A tag that the end of the source cuts short is text that nobody can read; show it as dropped.
			if rest := bytes.TrimSpace(b.tz.Raw()); len(rest) > 0 {
				b.add(b.make(node{tag: atom.Object, class: classUnseen, reason: connector.DropMarkup, kids: []*node{{text: string(rest)}}}))
			}
			return
		case html.TextToken:
			b.text()
		case html.StartTagToken:
			b.open(false)
		case html.SelfClosingTagToken:
			b.open(true)
		case html.EndTagToken:
			name, _ := b.tz.TagName()
			b.close(atom.Lookup(name))
		case html.CommentToken:
			if text := strings.TrimSpace(string(b.tz.Text())); text != "" && !strings.HasPrefix(text, "?xml") {
				b.add(b.make(node{tag: atom.Object, class: classUnseen, reason: connector.DropComment, kids: []*node{{text: text}}}))
			}
		}
	}
}

// text adds a text token. Entities are the only way in which characters that decoding drops come back.
func (b *builder) text() {
	entities := bytes.IndexByte(b.tz.Raw(), '&') >= 0
	text := string(b.tz.Text())
	if entities {
		text = b.clean.Clean(text)
	}
	if text == "" {
		return
	}
	if b.top().class == classTitle {
		b.title += text
		return
	}
	b.add(b.make(node{text: text, link: b.link}))
}

func (b *builder) open(selfClosing bool) {
	name, more := b.tz.TagName()
	tag := atom.Lookup(name)
	if tag == atom.A {
		b.link = !selfClosing
	}
	n := b.make(node{tag: tag, class: classOf(tag)})
	alt := ""
	for more {
		var key, val []byte
		key, val, more = b.tz.TagAttr()
		b.attribute(n, string(key), val, &alt)
	}
	switch n.class {
	case classVoid:
	case classImage:
		if n.text = b.clean.Clean(alt); strings.TrimSpace(n.text) != "" {
			b.add(n)
		}
	case classBreak, classRule:
		b.add(n)
	case classInline:
		b.openInline(n, selfClosing)
	default:
		b.openBlock(n, selfClosing)
	}
}

// openInline keeps an inline element only where it matters: it is hidden, or stands in one that is.
func (b *builder) openInline(n *node, selfClosing bool) {
	if top := b.top(); top.class == classPre && top.lang == "" {
		top.lang = n.lang
	}
	if b.hidden == 0 && n.reason == "" || n.tag == 0 || selfClosing || len(b.stack) >= maxDepth {
		return
	}
	b.hidden++
	b.push(n)
}

func (b *builder) openBlock(n *node, selfClosing bool) {
	if selfClosing && b.xml {
		b.tz.NextIsNotRawText()
		b.add(b.make(node{class: classSeparator}))
		return
	}
	b.closeImplied(n)
	limit := maxDepth
	switch n.class {
	case classScript:
		n.reason, limit = connector.DropScript, maxDepth+2 // cannot be nested
	case classUnseen:
		n.reason, limit = connector.DropHidden, maxDepth+1
	case classNav:
		if n.reason == "" && !(n.tag == atom.Footer && b.inside(atom.Article, atom.Blockquote, atom.Figure)) {
			n.reason = connector.DropBoilerplate
		}
	case classTitle:
		limit = maxDepth + 2
		if b.inside(atom.Svg) || b.title != "" {
			n.class = classBlock
		}
	case classPre:
		limit = maxDepth + 1
	}
	if len(b.stack) >= limit {
		b.add(b.make(node{class: classSeparator}))
		return
	}
	b.push(n)
}

func (b *builder) push(n *node) {
	b.add(n)
	b.stack = append(b.stack, n)
}

func (b *builder) attribute(n *node, key string, val []byte, alt *string) {
	switch key {
	case "alt":
		*alt = string(val)
	case "hidden":
		if n.tag != atom.Html && n.tag != atom.Body && !strings.EqualFold(string(val), "until-found") {
			n.reason = connector.DropHidden
		}
	case "style":
		if bytes.Contains(val, []byte("none")) || bytes.Contains(val, []byte("hidden")) {
			style := strings.ToLower(strings.ReplaceAll(string(val), " ", ""))
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				n.reason = connector.DropHidden
			}
		}
	case "role":
		n.role = strings.ToLower(string(val))
		switch n.role {
		case "navigation", "contentinfo", "banner", "search", "complementary":
			if n.class == classBlock && n.reason == "" {
				n.reason = connector.DropBoilerplate
			}
		}
	case "rowspan":
		n.span[0] = spanValue(val)
	case "colspan":
		n.span[1] = spanValue(val)
	case "start":
		n.start, _ = strconv.Atoi(string(val))
	case "type", "lang":
		if n.class == classScript && n.lang == "" {
			n.lang = string(val)
		}
	case "class":
		if n.class == classPre || n.tag == atom.Code || n.tag == atom.Div {
			n.lang = languageOf(string(val))
		}
	}
}

func spanValue(val []byte) uint16 {
	v, err := strconv.ParseUint(strings.TrimSpace(string(val)), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(min(v, 1000))
}

// languageOf finds the language in the classes that highlighters use.
func languageOf(classes string) string {
	for c := range strings.FieldsSeq(strings.ToLower(classes)) {
		for _, prefix := range []string{"language-", "lang-", "highlight-source-", "sourcecode-", "brush:"} {
			if lang, ok := strings.CutPrefix(c, prefix); ok && lang != "" && len(lang) < 40 && lang != "none" {
				return strings.TrimRight(lang, ";")
			}
		}
	}
	return ""
}

// inside reports whether one of tags is open.
func (b *builder) inside(tags ...atom.Atom) bool {
	for _, n := range b.stack {
		for _, tag := range tags {
			if n.tag == tag {
				return true
			}
		}
	}
	return false
}

// closeImplied closes what the start of n ends without an end tag.
func (b *builder) closeImplied(n *node) {
	for b.top().class == classInline && len(b.stack) > 1 { // a hidden inline element does not hide blocks that follow it
		b.pop(len(b.stack) - 1)
	}
	if n.class != classScript && n.class != classUnseen && b.top().tag == atom.P {
		b.pop(len(b.stack) - 1)
	}
	switch n.class {
	case classHeading:
		if b.top().class == classHeading {
			b.pop(len(b.stack) - 1)
		}
	case classItem:
		b.closeUpTo(func(o *node) bool { return o.class == classItem }, func(o *node) bool { return o.class == classList })
	case classDef:
		b.closeUpTo(func(o *node) bool { return o.class == classDef }, func(o *node) bool { return o.class == classDefs })
	case classPart:
		inTable := func(o *node) bool { return o.class == classTable }
		switch n.tag {
		case atom.Td, atom.Th:
			b.closeUpTo(func(o *node) bool { return o.tag == atom.Td || o.tag == atom.Th || o.tag == atom.Caption }, func(o *node) bool { return o.class == classTable || o.tag == atom.Tr })
		case atom.Tr:
			b.closeUpTo(func(o *node) bool { return o.tag == atom.Tr || o.tag == atom.Caption || o.tag == atom.Colgroup }, inTable)
		default:
			b.closeUpTo(func(o *node) bool {
				return o.class == classPart && o.tag != atom.Tr && o.tag != atom.Td && o.tag != atom.Th
			}, inTable)
		}
	case classBlock:
		if n.tag == atom.Body && b.inside(atom.Head) {
			b.closeUpTo(func(o *node) bool { return o.tag == atom.Head }, func(*node) bool { return false })
		}
		if (n.tag == atom.Option || n.tag == atom.Optgroup) && b.top().tag == atom.Option {
			b.pop(len(b.stack) - 1)
		}
	}
}

// closeUpTo closes the innermost open element that match accepts, unless one that stop accepts is nearer.
func (b *builder) closeUpTo(match, stop func(*node) bool) {
	for i := len(b.stack) - 1; i > 0; i-- {
		if match(b.stack[i]) {
			b.pop(i)
			return
		}
		if stop(b.stack[i]) {
			return
		}
	}
}

// close handles an end tag.
func (b *builder) close(tag atom.Atom) {
	if tag == 0 {
		return
	}
	if tag == atom.A {
		b.link = false
	}
	c := classOf(tag)
	if c == classBreak {
		b.add(b.make(node{tag: tag, class: c}))
		return
	}
	if c == classInline && b.hidden == 0 || c == classVoid || c == classImage || c == classRule {
		return
	}
	for i := len(b.stack) - 1; i > 0; i-- {
		o := b.stack[i]
		if o.tag == tag || c == classHeading && o.class == classHeading {
			b.pop(i)
			return
		}
		if c == classInline && o.class != classInline {
			return
		}
		if (o.class == classTable || o.tag == atom.Td || o.tag == atom.Th || o.tag == atom.Caption) && c != classTable && c != classPart {
			return
		}
		if o.class == classTable && c == classPart {
			return
		}
	}
	if c != classInline {
		b.add(b.make(node{class: classSeparator}))
	}
}

// pop closes the open elements from index i on.
func (b *builder) pop(i int) {
	for _, n := range b.stack[i:] {
		if n.class == classInline {
			b.hidden--
		}
	}
	b.stack = b.stack[:i]
}
