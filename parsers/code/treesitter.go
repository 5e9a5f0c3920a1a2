//go:build cgo

package code

/*
#include "flatten.h"
*/
import "C"

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	_ "github.com/tree-sitter/go-tree-sitter" // the runtime that flatten.h calls

	"github.com/kbsync/kbsync/connector"
)

// backend names what divides source text in this build.
const backend = "tree-sitter"

const (
	largeNode = 1 << 10 // nodes of this many bytes can be cut into their children
	maxDepth  = 256
)

// Work that one parse may take before the text is divided by indentation instead. Real files, broken ones included, take up to 4 steps a byte and
// are read about once; the bounds are for hostile input. They count work, not time, so the outcome is the same everywhere.
const (
	baseSteps    = 1 << 18
	stepsPerByte = 32
	baseReads    = 16 << 20
	readsPerByte = 64
	maxText      = 4 << 20
)

// A step of error recovery can take a thousand times as long as another. So the head of a long text is tried first; if it does not
// look like the language at all, neither is the rest parsed. What still takes more than the limit of processor time is an error: output must not depend on time.
const (
	probeOver = 128 << 10
	probeSize = 16 << 10
	baseTime  = 20 * time.Second
	timePerKB = 30 * time.Millisecond
)

// engine parses by the grammars of this build. A grammar's tables are made when a file first needs them.
type engine struct{ grammars map[string]func() *loaded }

func newEngine() *engine {
	e := &engine{grammars: map[string]func() *loaded{}}
	for name, g := range grammars() {
		e.grammars[name] = sync.OnceValue(g.load)
	}
	return e
}

func (e *engine) languages() []string {
	return slices.Sorted(maps.Keys(e.grammars))
}

// parse divides text by its syntax. ok is false if the language has no grammar or the parse is over its budget.
func (e *engine) parse(ctx context.Context, language, text string) (list []decl, ok bool, err error) {
	load, ok := e.grammars[language]
	if !ok || text == "" || len(text) > maxText || !safe(language, text) {
		return nil, false, nil
	}
	t, err := load().parse(ctx, text)
	if t == nil || err != nil {
		return nil, false, err
	}
	t.inner = func(language string, lo, hi int) []decl {
		if err != nil || language == "html" {
			return nil
		}
		var list []decl
		list, _, err = e.parse(ctx, language, text[lo:hi])
		shift(list, lo)
		return list
	}
	list = t.declarations()
	return list, err == nil, err
}

// parse makes the tree of text; it is nil if that is over the budget.
func (l *loaded) parse(ctx context.Context, text string) (*tree, error) {
	if len(text) > probeOver {
		head, err := l.parseWithin(ctx, text[:probeSize], baseSteps+stepsPerByte*probeSize, baseReads+readsPerByte*probeSize)
		if head == nil || err != nil || head.garbage() {
			return nil, err
		}
	}
	n := uint64(len(text))
	return l.parseWithin(ctx, text, baseSteps+stepsPerByte*n, baseReads+readsPerByte*n)
}

// garbage says that much of the text is single tokens that fit nowhere. A declaration that is merely cut off has whole nodes inside its error.
func (t *tree) garbage() bool {
	stray := 0
	for i := range t.nodes {
		if t.nodes[i].kind != errorKind {
			continue
		}
		for c := range t.children(i) {
			if t.nodes[c].end-t.nodes[c].start < 16 {
				stray++
			}
		}
	}
	return stray > len(t.text)/16
}

func (l *loaded) parseWithin(ctx context.Context, text string, steps, reads uint64) (*tree, error) {
	cancelled := new(int32)
	stop := context.AfterFunc(ctx, func() { atomic.StoreInt32(cancelled, 1) })
	defer stop()
	state := (*C.kb_parse_state)(C.calloc(1, C.sizeof_kb_parse_state))
	if state == nil {
		return nil, fmt.Errorf("out of memory")
	}
	defer func() {
		C.free(unsafe.Pointer(state.nodes))
		C.free(unsafe.Pointer(state))
	}()
	state.length = C.uint32_t(len(text))
	state.max_operations = C.uint64_t(steps)
	state.max_bytes = C.uint64_t(reads)
	state.max_time = C.double((baseTime + timePerKB*time.Duration(len(text)>>10)).Seconds())
	rc := C.kb_parse(state, (*C.char)(unsafe.Pointer(unsafe.StringData(text))), (*C.int32_t)(cancelled), l.pointer,
		(*C.uint8_t)(&l.descend[0]), C.uint32_t(len(l.descend)), largeNode, maxDepth)
	switch rc {
	case C.KB_OK:
		return l.tree(text, unsafe.Slice(state.nodes, int(state.count))), nil
	case C.KB_OVER_BUDGET:
		return nil, nil
	case C.KB_CANCELLED:
		return nil, ctx.Err()
	case C.KB_TOO_SLOW:
		return nil, connector.Errorf(connector.ClassInvalid, "the text costs its parser more time than any real file of its size; exclude the file, or give it a rule with another strategy")
	}
	return nil, fmt.Errorf("tree-sitter failed (the grammar does not fit the runtime, or memory ran out)")
}

// grammar is a language that tree-sitter knows, with the rules for its tree.
type grammar struct {
	pointer func() unsafe.Pointer
	rules   func() *rules
}

// loaded is a grammar with the numbers of its symbols.
type loaded struct {
	pointer *C.TSLanguage
	rules   *rules
	names   []string // of symbols
	fields  []string
	descend []uint8
}

func (g grammar) load() *loaded {
	l := &loaded{pointer: (*C.TSLanguage)(g.pointer()), rules: g.rules()}
	l.names = make([]string, C.ts_language_symbol_count(l.pointer))
	l.descend = make([]uint8, len(l.names))
	for i := range l.names {
		l.names[i] = C.GoString(C.ts_language_symbol_name(l.pointer, C.uint16_t(i)))
		if l.rules.descends(l.names[i]) {
			l.descend[i] = 1
		}
	}
	l.fields = make([]string, C.ts_language_field_count(l.pointer)+1)
	for i := 1; i < len(l.fields); i++ {
		l.fields[i] = C.GoString(C.ts_language_field_name_for_id(l.pointer, C.uint16_t(i)))
	}
	return l
}

func (l *loaded) tree(text string, nodes []C.kb_node) *tree {
	t := &tree{text: text, rules: l.rules, nodes: make([]node, len(nodes))}
	var open []int
	for i, n := range nodes {
		kind := errorKind
		if int(n.symbol) < len(l.names) {
			kind = l.names[n.symbol]
		}
		t.nodes[i] = node{kind: kind, field: l.fields[n.field], named: n.named != 0, start: int(n.start), end: int(n.end)}
		for len(open) > int(n.depth) {
			t.nodes[open[len(open)-1]].next = i
			open = open[:len(open)-1]
		}
		open = append(open, i)
	}
	for _, i := range open {
		t.nodes[i].next = len(nodes)
	}
	return t
}
