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

// preferMain marks everything outside of the page's main part as boilerplate, if the page says which part that is and it
// holds most of the text. Headings of level 1 stay wherever they are.
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
	held := 0
	keep := map[*node]bool{}
	for _, n := range chosen {
		held += visible(n)
		keep[n] = true
	}
	if held > 0 && held*100 >= total*share {
		markOutside(root, keep)
	}
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
