package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"gopkg.in/yaml.v3"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/internal/detect"
)

// facts are what is remembered of a document so that a changed configuration can be checked against it
// without opening it.
type facts struct {
	MediaType string         `json:"m,omitempty"`
	Language  string         `json:"l,omitempty"`
	Parser    string         `json:"p,omitempty"`
	Strategy  string         `json:"s,omitempty"` // the built-in choice
	Params    map[string]any `json:"q,omitempty"` // settings of the built-in choice
	Skip      string         `json:"k,omitempty"`
	Degraded  string         `json:"d,omitempty"` // why a tree format was read as plain text
	Size      int64          `json:"z"`
	URI       string         `json:"u,omitempty"`
	Front     map[string]any `json:"f,omitempty"`
	Metadata  string         `json:"t,omitempty"` // digest of the metadata that the source gave
	// Inputs are the versions of the documents that it takes in, by path.
	Inputs map[string]string `json:"i,omitempty"`
	by     string            // what told the type; for people, and not remembered
	// Held is set for a container: what it holds.
	Held *held `json:"h,omitempty"`
}

func (f *facts) encode() []byte {
	b, err := json.Marshal(f)
	if err != nil { // front matter with values that JSON has no form for: leave them out
		g := *f
		g.Front = nil
		b, _ = json.Marshal(&g)
	}
	return b
}

// route is how one class of documents is cut.
type route struct {
	rule        string // for people
	ruleIndex   int    // -1 for the built-in rules
	kind        string // strategy
	strategy    connector.Strategy
	config      any
	metadata    map[string]any
	parser      *ruleParser // nil: the type of the document chooses
	fingerprint string      // without the parser's part
}

// ruleParser is the parser that a rule names.
type ruleParser struct {
	kind   string
	parser connector.Parser
	digest string // of its settings

	lost atomic.Int32 // documents at which it failed by passing faults since the last one that it read
}

// router chooses parser and strategy by rules; every strategy is opened once.
type router struct {
	parsers map[string]connector.Parser
	rules   []config.Rule
	routes  []*route          // by rule; nil where the rule names no strategy
	reads   []*ruleParser     // by rule; nil where the rule names no parser
	builtin map[string]*route // by strategy kind
	open    func(kind string, params map[string]any) (*route, error)
	mu      sync.Mutex // guards builtin, which grows with the settings that detection asks for
	whole   bool       // what no rule names a strategy for is stored whole, and cut when a question is asked
	epoch   int64      // changes with anything that could change a fingerprint
	global  string     // the part of every fingerprint that no rule changes
	words   *words     // nil: no keywords are asked for

	contains bool // some parser is a container's
	claims   bool // some rule names one
	maxDepth int  // of containers in containers
}

func newRouter(ctx context.Context, p *Pipeline) (*router, error) {
	r := &router{parsers: map[string]connector.Parser{}, rules: p.file.Rules, builtin: map[string]*route{}, whole: p.file.PostChunking.Strategy != nil,
		maxDepth: p.file.Archives.MaxDepth}
	var err error
	if r.words, err = newWords(p.file); err != nil {
		return nil, err
	}
	r.open = func(kind string, params map[string]any) (*route, error) { return p.openBuiltin(ctx, kind, params) }
	var errs []error
	infos := []connector.ParserInfo{}
	for _, kind := range p.reg.Parsers.Kinds() {
		plugin, _ := p.reg.Parsers.Get(kind)
		parser, err := plugin.Open(ctx, plugin.Config(), p.parserEnv())
		if err != nil {
			errs = append(errs, fmt.Errorf("parser %s: %w", kind, err))
			continue
		}
		r.parsers[kind] = parser
		if _, ok := parser.(connector.Container); ok {
			r.contains = true
		}
		infos = append(infos, parser.Info())
	}
	r.global = digest(p.file.Name, p.file.IDs, p.file.Dedup, p.file.FrontMatter, recordVersion)
	r.global = crossGlobal(r.global, p.file)
	if p.model.Contextual { // what a group holds decides what vectors its texts have
		l := limitsOf(&p.model)
		c, err := p.counter("model")
		if err != nil {
			return nil, err
		}
		r.global = digest(r.global, contextVersion, l.items, l.tokens, l.bytes, c.Name())
	}
	parts := []any{r.global, infos, p.file.Archives}
	for i, rule := range p.file.Rules {
		var rt *route
		if rule.Strategy != nil {
			var err error
			if rt, err = p.openRoute(ctx, rule.Strategy.Kind, rule.Strategy.Config); err != nil {
				errs = append(errs, &UsageError{fmt.Errorf("%s: %w", rule.Strategy.Pos, err)})
				continue
			}
			if want := rt.strategy.Info().Parser; want != "" && len(rule.Match.FrontMatter) > 0 {
				errs = append(errs, UsageErrorf("%s: strategy %s has a parser of its own (%s), so a rule that goes by front matter, which another parser reads, cannot choose it",
					rule.Strategy.Pos, rule.Strategy.Kind, want))
				continue
			}
			rt.rule, rt.ruleIndex, rt.metadata = rule.Name, i, rule.Metadata
			rt.fingerprint = digest(rt.fingerprint, rule.Metadata)
			parts = append(parts, rt.fingerprint)
		}
		parts = append(parts, rule.Match, rule.Metadata)
		r.routes = append(r.routes, rt)
		read, err := p.openRuleParser(ctx, &rule)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if r.reads = append(r.reads, read); read != nil {
			parts = append(parts, read.digest)
			_, container := read.parser.(connector.Container)
			r.claims = r.claims || container
		}
	}
	for _, kind := range detect.Strategies() { // others may need a model, and no built-in rule asks for them
		if _, ok := p.reg.Strategies.Get(kind); !ok {
			continue
		}
		rt, err := p.openBuiltin(ctx, kind, nil)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.builtin[kind] = rt
		parts = append(parts, rt.fingerprint)
	}
	for _, s := range p.file.Sources {
		parts = append(parts, s.Name, s.Kind, s.Config, p.file.Dir)
	}
	if r.whole {
		parts = append(parts, "whole")
	}
	r.epoch = epochOf(digest(parts...))
	return r, errors.Join(errs...)
}

// openRuleParser opens the parser that a rule names, if it names one.
func (p *Pipeline) openRuleParser(ctx context.Context, rule *config.Rule) (*ruleParser, error) {
	if rule.Parser == nil {
		return nil, nil
	}
	if len(rule.Match.FrontMatter) > 0 {
		return nil, UsageErrorf("%s: a rule that goes by front matter, which a parser reads first, cannot choose the parser", rule.Parser.Pos)
	}
	plugin, ok := p.reg.Parsers.Get(rule.Parser.Kind)
	if !ok {
		return nil, UsageErrorf("%s: parser %q is not in this build", rule.Parser.Pos, rule.Parser.Kind)
	}
	parser, err := plugin.Open(ctx, rule.Parser.Config, p.parserEnv())
	if err != nil {
		return nil, &UsageError{fmt.Errorf("%s: parser %s: %w", rule.Parser.Pos, rule.Parser.Kind, err)}
	}
	return &ruleParser{kind: rule.Parser.Kind, parser: parser, digest: digest(rule.Parser.Kind, rule.Parser.Config, parser.Info())}, nil
}

func epochOf(hex string) int64 {
	var n uint64
	for _, c := range []byte(hex[:15]) { // 60 bits: positive
		n = n<<4 | uint64(strings.IndexByte("0123456789abcdef", c))
	}
	return int64(n)
}

// openBuiltin opens a strategy with its defaults and the settings that belong to a type of file.
func (p *Pipeline) openBuiltin(ctx context.Context, kind string, params map[string]any) (*route, error) {
	plugin, ok := p.reg.Strategies.Get(kind)
	if !ok {
		return nil, fmt.Errorf("no strategy %q in this build", kind)
	}
	conf := plugin.Config()
	if len(params) > 0 {
		b, err := yaml.Marshal(params)
		if err == nil {
			err = yaml.Unmarshal(b, conf)
		}
		if err != nil {
			return nil, fmt.Errorf("built-in rule for %s: %w", kind, err)
		}
	}
	rt, err := p.openRoute(ctx, kind, conf)
	if err != nil {
		return nil, fmt.Errorf("built-in rule for %s: %w", kind, err)
	}
	rt.rule, rt.ruleIndex = "built-in rule", -1
	return rt, nil
}

// builtinFor is the built-in route of a strategy with given settings; each is opened once.
func (r *router) builtinFor(kind string, params map[string]any) (*route, error) {
	key := kind
	if len(params) > 0 {
		key += digest(params)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if rt := r.builtin[key]; rt != nil {
		return rt, nil
	}
	rt, err := r.open(kind, params)
	if err == nil {
		r.builtin[key] = rt
	}
	return rt, err
}

func (p *Pipeline) openRoute(ctx context.Context, kind string, conf any) (*route, error) {
	s, err := p.openStrategy(ctx, connector.Choice{Kind: kind, Config: conf})
	if err != nil {
		return nil, err
	}
	info := s.Info()
	parts := []any{kind, info.Version, spelled(info.Caps), conf}
	if len(info.ParentCaps) > 0 || len(info.Models) > 0 {
		parts = append(parts, spelled(info.ParentCaps), info.Models)
	}
	return &route{kind: kind, strategy: s, config: conf, fingerprint: digest(parts...)}, nil
}

func spelled(caps []connector.Cap) []string {
	out := []string{}
	for _, c := range caps {
		out = append(out, fmt.Sprintf("%d %s", c.Max, c.Counter.Name()))
	}
	return out
}

// routeOf finds the route of a document; nil if it is skipped.
func (r *router) routeOf(source, path string, f *facts) (*route, error) {
	if f.Skip != "" && !r.claimed(source, path, f) {
		return nil, nil
	}
	return r.choose(source, path, f)
}

// claimed says whether a rule names a parser for a document that is skipped otherwise.
func (r *router) claimed(source, path string, f *facts) bool {
	cf := config.Facts{Path: path, MediaType: f.MediaType, Language: f.Language, Source: source, Size: f.Size}
	for i := range r.rules {
		if r.reads[i] != nil && r.rules[i].Match.Matches(cf) {
			return true
		}
	}
	return false
}

// claimedContainer says whether a rule names the parser of a container for a document.
func (r *router) claimedContainer(source string, doc *connector.Document) bool {
	cf := config.Facts{Path: doc.Path, MediaType: doc.MediaType, Source: source, Size: doc.Size}
	for i := range r.rules {
		if r.reads[i] == nil || !r.rules[i].Match.Matches(cf) {
			continue
		}
		if _, ok := r.reads[i].parser.(connector.Container); ok {
			return true
		}
	}
	return false
}

// choose finds the route of a document. The first rule that matches and names a strategy decides, the first that names a parser up to it says
// what reads; rules that name no strategy add their metadata on the way.
func (r *router) choose(source, path string, f *facts) (*route, error) {
	cf := config.Facts{Path: path, MediaType: f.MediaType, Language: f.Language, Source: source, Size: f.Size, FrontMatter: f.Front}
	extra := map[string]any{}
	var read *ruleParser
	for i := range r.rules {
		if !r.rules[i].Match.Matches(cf) {
			continue
		}
		if read == nil {
			read = r.reads[i]
		}
		if rt := r.routes[i]; rt != nil {
			return rt.with(extra, read), nil
		}
		maps.Copy(extra, r.rules[i].Metadata)
	}
	kind, params := f.Strategy, f.Params
	switch {
	case r.whole:
		kind, params = "whole", nil
	case f.Degraded != "":
		kind = "recursive"
	case kind == "": // skipped, but for the rule's parser
		kind = claimedStrategy
	}
	rt, err := r.builtinFor(kind, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.MediaType, err)
	}
	return rt.with(extra, read), nil
}

// claimedStrategy cuts, by default, what only the parser of a rule reads.
const claimedStrategy = "layout"

// with adds the metadata of rules before, and the parser that a rule names.
func (rt *route) with(extra map[string]any, read *ruleParser) *route {
	if len(extra) == 0 && read == nil {
		return rt
	}
	c := *rt
	if len(extra) > 0 {
		maps.Copy(extra, rt.metadata)
		c.metadata = extra
		c.fingerprint = digest(rt.fingerprint, extra)
	}
	if read != nil {
		c.parser = read
		c.fingerprint = digest(c.fingerprint, read.digest)
	}
	return &c
}

// fingerprint names everything that decides how a document of these facts is cut; rt is nil for one that is skipped.
func (r *router) fingerprint(rt *route, f *facts) string {
	if rt == nil {
		return digest(r.global, "skip", f.Skip, r.kinds())[:16]
	}
	parser := r.parserFor(rt, f)
	if parser == nil {
		return ""
	}
	return digest(r.global, rt.fingerprint, parser.Info())[:16]
}

// kinds are the parsers of this build: a file that was skipped is looked at again when another parser joins.
func (r *router) kinds() int { return len(r.parsers) }

// parserFor is what reads a document; nil if this build lacks it.
func (r *router) parserFor(rt *route, f *facts) connector.Parser {
	if rt.parser != nil && f.Degraded == "" {
		return rt.parser.parser
	}
	return r.parsers[r.parserOf(rt, f)]
}

// parserOf is the kind of parser that reads a document: the text parser where a tree would be too large, else the one that a rule names, else
// the one that its strategy is made for, else that of its type.
func (r *router) parserOf(rt *route, f *facts) string {
	if f.Degraded != "" {
		return "text"
	}
	if rt.parser != nil {
		return rt.parser.kind
	}
	if want := rt.strategy.Info().Parser; want != "" && r.parsers[want] != nil {
		return want
	}
	return f.Parser
}

// detectFacts looks at the name and the first bytes of a document.
func detectFacts(doc *connector.Document, head []byte, maxTree int64) (*facts, bool) {
	t := detect.Detect(doc.Path, doc.MediaType, head)
	f := &facts{MediaType: t.MediaType, Language: t.Language, Parser: t.Parser, Strategy: t.Strategy, Params: t.Params, Skip: t.Skip, Size: doc.Size, URI: doc.URI, by: t.Reason}
	switch {
	case !t.Tree || maxTree <= 0 || doc.Size <= maxTree:
	case t.Binary:
		f.Skip = fmt.Sprintf("over max_tree_size (%d > %d bytes): raise it in the source to have it read", doc.Size, maxTree)
	default:
		f.Degraded = fmt.Sprintf("over max_tree_size (%d > %d bytes): read as plain text", doc.Size, maxTree)
	}
	return f, t.Tree
}

// backends names the parsers' backends, so that a build that lacks one refuses to cut again what another build cut.
func (r *router) backends() map[string]string {
	m := map[string]string{}
	for kind, parser := range r.parsers {
		if b := parser.Info().Backend; b != "" {
			m[kind] = b
		}
	}
	return m
}

func decodeFacts(b []byte) (*facts, bool) {
	f := new(facts)
	return f, len(b) > 0 && json.Unmarshal(b, f) == nil
}
