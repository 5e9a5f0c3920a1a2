package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/kbsync/kbsync/connector"
)

// kindSet is one set of a registry, whatever its type.
type kindSet struct {
	what   string // "source"
	kinds  []string
	plugin func(kind string) (config func() any, doc string, ok bool)
}

func setOf[E, T any](what string, s *connector.Set[connector.Plugin[E, T]]) kindSet {
	return kindSet{what: what, kinds: s.Kinds(), plugin: func(kind string) (func() any, string, bool) {
		p, ok := s.Get(kind)
		return p.Config, p.Doc, ok
	}}
}

func kindsOf(reg *connector.Registry, what string) kindSet {
	switch what {
	case "source":
		return setOf(what, &reg.Sources)
	case "strategy":
		return setOf(what, &reg.Strategies)
	case "parser":
		return setOf(what, &reg.Parsers)
	case "embedder":
		return setOf(what, &reg.Embedders)
	case "sink":
		return setOf(what, &reg.Sinks)
	case "llm":
		return setOf(what, &reg.LLMs)
	}
	return kindSet{what: what, plugin: func(string) (func() any, string, bool) { return nil, "", false }}
}

// kinded decodes a map of exactly one kind.
func (d *decoder) kinded(n *node, k *Kinded, what, path string) {
	set := kindsOf(d.reg, what)
	if n.kind != mapNode {
		example := "KIND"
		if len(set.kinds) > 0 {
			example = set.kinds[0]
		}
		d.fail(n.pos, path, "expected the kind of %s as a key, as in %s: {}; found %s%s", what, example, n.what(), kindList(set))
		return
	}
	d.oneKind(n, n.entries, k, set, path)
}

func kindList(set kindSet) string {
	if len(set.kinds) == 0 {
		return ""
	}
	return "; kinds: " + strings.Join(set.kinds, ", ")
}

func (d *decoder) oneKind(n *node, entries []entry, k *Kinded, set kindSet, path string) {
	if len(entries) == 0 {
		d.fail(n.pos, path, "the kind of %s is missing%s", set.what, kindList(set))
		return
	}
	known := 0
	for _, e := range entries {
		if config, _, ok := set.plugin(e.key); ok {
			if known++; known > 1 {
				d.fail(e.keyPos, joinPath(path, e.key), "a second kind; a %s has exactly one", set.what)
				continue
			}
			d.plugin(e, k, config, joinPath(path, e.key))
			continue
		}
		d.fail(e.keyPos, joinPath(path, e.key), "unknown kind of %s%s", set.what, hint(e.key, set.kinds, "known kinds"))
	}
}

// plugin decodes a plugin's configuration over its defaults and validates it.
func (d *decoder) plugin(e entry, k *Kinded, config func() any, path string) {
	before := len(d.errs)
	c := config()
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		d.fail(e.keyPos, path, "the plugin's configuration is no pointer")
		return
	}
	value := e.value
	if value.kind == badNode {
		return
	}
	if value.kind == nullNode {
		value = &node{kind: mapNode, pos: e.keyPos}
	}
	d.value(value, v.Elem(), field{}, path)
	*k = Kinded{Kind: e.key, Config: c, Pos: e.keyPos}
	if len(d.errs) > before {
		return
	}
	if checked, ok := c.(interface{ Validate() error }); ok {
		for _, err := range flatten(checked.Validate()) {
			d.fail(e.keyPos, path, "%s", d.vault.mask(err.Error()))
		}
	}
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok && strings.Contains(err.Error(), "\n") {
		var out []error
		for _, e := range joined.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}

// source decodes one item of the list of sources: a name and exactly one kind.
func (d *decoder) source(n *node, s *SourceConf, path string) {
	set := kindsOf(d.reg, "source")
	if n.kind != mapNode {
		d.fail(n.pos, path, "expected a map with a name and a kind of source, found %s%s", n.what(), kindList(set))
		return
	}
	var kinds []entry
	for _, e := range n.entries {
		if e.key != "name" {
			kinds = append(kinds, e)
			continue
		}
		d.value(e.value, reflect.ValueOf(&s.Name).Elem(), field{}, joinPath(path, e.key))
		if s.Name != "" && !validName(s.Name) {
			d.fail(e.value.pos, joinPath(path, e.key), "%s", nameRule)
		}
	}
	s.Pos = n.pos
	d.oneKind(n, kinds, &s.Kinded, set, path)
	if s.Name == "" {
		s.Name = s.Kind
	}
}

// check looks at what spans several keys, and fills the defaults that depend on others.
func (d *decoder) check(f *File, root *node) {
	at := func(keys ...string) Position {
		n := root
		for _, k := range keys {
			if v := n.get(k); v != nil {
				n = v
			}
		}
		return n.pos
	}
	if f.Version != Version {
		d.fail(at("version"), "version", "expected %d: this kbsync reads no other version", Version)
	}
	switch given := root.get("name"); {
	case given == nil || given.kind == nullNode:
		f.Name = nameOf(f.Dir)
	case given.tag == "!!str" && !validName(f.Name) && !d.reported("name"):
		d.fail(given.pos, "name", "%s", nameRule)
	}
	if sources := root.get("sources"); sources != nil && sources.kind == listNode && len(sources.items) == 0 && !d.partial {
		d.fail(sources.pos, "sources", "missing; expected at least one source")
	}
	if f.Sync.Concurrency < 0 {
		d.fail(at("sync", "concurrency"), "sync.concurrency", "expected 0 or more")
	}
	if f.Sync.Retries < 0 {
		d.fail(at("sync", "retries"), "sync.retries", "expected 0 or more")
	}
	for key, low := range map[string]bool{"max_depth": f.Archives.MaxDepth < 0, "max_members": f.Archives.MaxMembers < 0, "max_size": f.Archives.MaxSize < 0} {
		if low {
			d.fail(at("archives", key), "archives."+key, "expected 0 or more")
		}
	}
	if n := f.PostChunking.Documents; n < 1 || n > 100 {
		d.fail(at("post_chunking", "documents"), "post_chunking.documents", "expected 1 to 100")
	}
	if f.Sync.Memory < 1<<20 {
		d.fail(at("sync", "memory"), "sync.memory", "expected at least 1MiB")
	}
	if t := f.Near.Threshold; t != 0 && !(t >= 0.8 && t <= 1) {
		d.fail(at("near", "threshold"), "near.threshold", "expected 0.8 to 1")
	}
	if k := f.Keywords; k != nil {
		d.checkKeywords(k, root, at("keywords", "top"))
	}
	d.checkSync(f, at)
	d.checkSources(f)
	d.checkRules(f, root)
}

// checkKeywords fills the defaults of the block that is there.
func (d *decoder) checkKeywords(k *Keywords, root *node, top Position) {
	block := root.get("keywords")
	switch {
	case block == nil || block.kind != mapNode || block.get("top") == nil:
		k.Top = 5
	case (k.Top < 1 || k.Top > 50) && !d.reported("keywords.top"):
		d.fail(top, "keywords.top", "expected 1 to 50; without keywords, leave the block out")
	}
	if k.Method == "" {
		k.Method = "tfidf"
	}
	if k.Segmenter == "" {
		k.Segmenter = "none"
	}
}

func (d *decoder) reported(path string) bool {
	for _, e := range d.errs {
		if e.Path == path {
			return true
		}
	}
	return false
}

func (d *decoder) checkSources(f *File) {
	taken := map[string]Position{}
	for i, s := range f.Sources {
		if s.Name == "" {
			continue // its fault is reported
		}
		if first, ok := taken[s.Name]; ok {
			d.fail(s.Pos, fmt.Sprintf("sources[%d]", i), "the name %q is taken by the source in line %d; give it a name of its own", s.Name, first.Line)
			continue
		}
		taken[s.Name] = s.Pos
	}
}

func (d *decoder) checkRules(f *File, root *node) {
	list := root.get("rules")
	if list == nil || list.kind != listNode || len(list.items) != len(f.Rules) {
		return
	}
	names := make([]string, len(f.Sources))
	for i, s := range f.Sources {
		names[i] = s.Name
	}
	for i := range f.Rules {
		r, n, path := &f.Rules[i], list.items[i], fmt.Sprintf("rules[%d]", i)
		r.Name = fmt.Sprintf("%s (%s:%d)", path, n.pos.File, n.pos.Line)
		if n.kind != mapNode {
			continue // its fault is reported
		}
		if n.get("strategy") == nil && n.get("preset") == nil && n.get("metadata") == nil && n.get("parser") == nil {
			d.fail(n.pos, path, "the rule does nothing; expected strategy, preset, parser or metadata")
		}
		match := n.get("match")
		if match == nil {
			continue
		}
		d.eachItem(match.get("path"), r.Match.Path, path+".match.path", func(glob string) string {
			if !doublestar.ValidatePattern(glob) {
				return "not a valid glob pattern"
			}
			return ""
		})
		if !d.partial && len(names) > 0 {
			d.eachItem(match.get("source"), r.Match.Source, path+".match.source", func(name string) string {
				for _, known := range names {
					if known == name {
						return ""
					}
				}
				return "there is no source of that name" + hint(name, names, "sources")
			})
		}
		if r.Match.MaxSize > 0 && r.Match.MaxSize < r.Match.MinSize {
			d.fail(match.pos, path+".match", "max_size is below min_size: the rule never matches")
		}
	}
}

// eachItem checks the items of a list of strings that was decoded from n.
func (d *decoder) eachItem(n *node, items []string, path string, fault func(string) string) {
	for i, item := range items {
		msg := fault(item)
		if msg == "" || n == nil {
			continue
		}
		pos, at := n.pos, path
		if n.kind == listNode && i < len(n.items) {
			pos, at = n.items[i].pos, fmt.Sprintf("%s[%d]", path, i)
		}
		if !d.reported(at) {
			d.fail(pos, at, "%s", msg)
		}
	}
}
