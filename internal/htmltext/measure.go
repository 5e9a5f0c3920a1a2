package htmltext

import (
	"golang.org/x/net/html/atom"

	"github.com/kbsync/kbsync/connector"
)

// measure fills in what the decisions about boilerplate and layout need.
func measure(n *node) {
	if n.isText() || n.class == classImage {
		for i := range len(n.text) {
			if c := n.text[i]; c != ' ' && c != '\n' && c != '\t' {
				n.size++
			}
		}
		return
	}
	for _, k := range n.kids {
		measure(k)
		if k.class == classScript || k.class == classUnseen {
			continue
		}
		n.size += k.size
		n.heads += k.heads
		n.h1 = n.h1 || k.h1
		n.complex = n.complex || k.complex
	}
	switch n.class {
	case classHeading:
		if n.size > 0 {
			n.heads++
			n.h1 = n.h1 || n.tag == atom.H1
		}
		n.complex = true
	case classTable, classPre, classDefs:
		n.complex = true
	}
}

// exempt takes back the decision to leave out what holds most of the page, or its headings: pages that are wrong about
// their own structure must not lose their text.
func exempt(n *node, total int) {
	if n.reason == connector.DropBoilerplate || n.reason == connector.DropHidden && n.class != classUnseen {
		if n.size*2 > total || n.h1 || n.heads > 0 && n.size*4 > total {
			n.reason = ""
		}
	}
	if n.reason != "" {
		return
	}
	for _, k := range n.kids {
		exempt(k, total)
	}
}

// visible is the size of n without what is left out.
func visible(n *node) int {
	if n.reason != "" {
		return 0
	}
	if len(n.kids) == 0 {
		return n.size
	}
	sum := 0
	for _, k := range n.kids {
		sum += visible(k)
	}
	return sum
}

// preferMain marks everything outside of the page's main part as boilerplate, if there is one that holds most of the text: what the page
// says it is, else the part in which the text stands densely. It does so only where no heading, table or code is lost by it.
func preferMain(root *node) {
	total := visible(root)
	var mains, articles []*node
	var find func(n *node)
	find = func(n *node) {
		switch {
		case n.reason != "":
			return
		case n.tag == atom.Main || n.role == "main":
			mains = append(mains, n)
			return
		case n.tag == atom.Article && !hasMain(n):
			articles = append(articles, n)
			return
		}
		for _, k := range n.kids {
			find(k)
		}
	}
	find(root)
	chosen, share := mains, 50
	if len(mains) == 0 {
		chosen, share = articles, 75
	}
	if len(chosen) == 0 {
		if n := dense(root, total); n != nil {
			chosen, share = []*node{n}, 60
		}
	}
	held := 0
	keep := map[*node]bool{}
	for _, n := range chosen {
		held += visible(n)
		keep[n] = true
	}
	if held > 0 && held*100 >= total*share && !losesBlocks(root, keep) {
		markOutside(root, keep)
	}
}

// losesBlocks says that a heading below level 1, a table or code stands outside of the nodes in keep and of what is left out anyway.
func losesBlocks(n *node, keep map[*node]bool) bool {
	if keep[n] || n.reason != "" {
		return false
	}
	switch n.class {
	case classHeading:
		return n.tag != atom.H1 && n.size > 0
	case classTable, classPre:
		return n.size > 0 && !holdsAny(n, keep)
	}
	for _, k := range n.kids {
		if losesBlocks(k, keep) {
			return true
		}
	}
	return false
}

// holdsAny says that a node of keep is inside n.
func holdsAny(n *node, keep map[*node]bool) bool {
	for _, k := range n.kids {
		if keep[k] || holdsAny(k, keep) {
			return true
		}
	}
	return false
}

// minDense is the least text, in bytes, of a page whose main part is looked for by density.
const minDense = 1000

// dense is the innermost part that holds four fifths of the page's text, if what stands beside it is links, as in menus and
// banners; nil if there is none (after Kohlschütter et al., "Boilerplate Detection using Shallow Text Features", 2010).
func dense(root *node, total int) *node {
	if total < minDense {
		return nil
	}
	at := root
	for {
		var next *node
		for _, k := range at.kids {
			if k.class == classBlock && k.reason == "" && visible(k)*5 >= total*4 {
				next = k
				break
			}
		}
		if next == nil {
			break
		}
		for _, k := range at.kids {
			if k != next && k.reason == "" && !links(k) {
				return nil
			}
		}
		at = next
	}
	if at == root || at.tag == atom.Body {
		return nil
	}
	return at
}

// links says that most of n's text is that of links.
func links(n *node) bool { return 2*linked(n) >= visible(n) }

// linked is the size of the text of links in n, without what is left out.
func linked(n *node) int {
	switch {
	case n.reason != "":
		return 0
	case n.link:
		return n.size
	}
	sum := 0
	for _, k := range n.kids {
		sum += linked(k)
	}
	return sum
}

func hasMain(n *node) bool {
	for _, k := range n.kids {
		if k.tag == atom.Main || k.role == "main" || hasMain(k) {
			return true
		}
	}
	return false
}

// markOutside marks the nodes that neither are in keep, hold one that is, nor hold a heading of level 1. It
// returns whether n holds something to keep.
func markOutside(n *node, keep map[*node]bool) bool {
	if keep[n] || n.class == classHeading && n.tag == atom.H1 {
		return true
	}
	holds := false
	var outside []*node
	for _, k := range n.kids {
		if markOutside(k, keep) {
			holds = true
		} else {
			outside = append(outside, k)
		}
	}
	if holds {
		for _, k := range outside {
			if k.reason == "" && k.size > 0 {
				k.reason = connector.DropBoilerplate
			}
		}
	}
	return holds
}
