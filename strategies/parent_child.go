package strategies

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// ParentSize is how large parents are: a number in the unit, "section" or "document".
type ParentSize struct {
	N    int
	Word string
}

// UnmarshalText reads "1500", "section" or "document".
func (p *ParentSize) UnmarshalText(b []byte) error {
	s := strings.TrimSpace(string(b))
	if s == "section" || s == "document" {
		*p = ParentSize{Word: s}
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is no size of a parent: write a number such as 1500, or section, or document", s)
	}
	*p = ParentSize{N: n}
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (p ParentSize) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// MarshalYAML writes a number or a word.
func (p ParentSize) MarshalYAML() (any, error) {
	if p.Word != "" {
		return p.Word, nil
	}
	return p.N, nil
}

// String is "1500" or "section".
func (p ParentSize) String() string {
	if p.Word != "" {
		return p.Word
	}
	return strconv.Itoa(p.N)
}

// NestSizing are the keys that parent_child and hierarchical share.
type NestSizing struct {
	Of        *connector.Choice `yaml:"of" kinds:"strategy" doc:"the strategy that cuts the children; default: recursive, markdown, table or code at the size of a child, by what the document consists of"`
	Unit      string            `yaml:"unit" enum:"tokens,chars" doc:"what sizes are counted in"`
	Tokenizer string            `yaml:"tokenizer" enum:"model,cl100k,o200k" doc:"which tokens are counted; model is the embedder's own"`
}

// size is a cap in the unit.
func (c NestSizing) size(n int) Sizing {
	s := Sizing{Unit: c.Unit, Tokenizer: c.Tokenizer}
	if c.Unit == unitChars {
		s.MaxChars = n
	} else {
		s.MaxTokens = n
	}
	return s
}

// open opens one level of parents, which no embedder bounds.
func (c NestSizing) open(n int, env connector.StrategyEnv) (*budget, error) {
	env.ModelCap = connector.Cap{}
	return c.size(n).open(env, defaults{})
}

// ParentChildConfig configures the strategy "parent_child".
type ParentChildConfig struct {
	Parent    ParentSize `yaml:"parent" doc:"how large a parent is: a number, section (the text below one heading) or document"`
	ParentMax int        `yaml:"parent_max" doc:"the most that a section or a document may be as a parent; longer ones are several parents; default: 4000 tokens or 8000 characters for sections, twice as much for documents"`
	Child     int        `yaml:"child" doc:"how large a child is at most; not with of; default: 256 tokens or 500 characters"`

	NestSizing `yaml:",inline"`
}

// Validate checks what does not need the embedder.
func (c ParentChildConfig) Validate() error {
	switch {
	case c.Parent.N < 0 || c.Parent.Word == "" && c.Parent.N == 0 || c.Parent.Word != "" && c.Parent.Word != "section" && c.Parent.Word != "document":
		return fmt.Errorf("parent is %q: write a number such as 1500, or section, or document", c.Parent)
	case c.ParentMax < 0 || c.Child < 0:
		return errors.New("parent_max and child must be positive (leave them out for the defaults)")
	case c.ParentMax > 0 && c.Parent.Word == "":
		return fmt.Errorf("parent_max goes with parent: section or document; parent is %s already", c.Parent)
	case c.Child > 0 && c.Of != nil:
		return errors.New("child and of are both set: the size of children is a key of the strategy in of")
	}
	return errors.Join(c.size(c.most()).Validate(), checkNested(c.most(), c.child(), c.Of))
}

// checkNested tells that children are smaller than their parents, where their size is known.
func checkNested(parent, child int, of *connector.Choice) error {
	if of == nil && child >= parent {
		return fmt.Errorf("a child has up to %d and a parent %d: children must be smaller", child, parent)
	}
	return nil
}

// most is the cap of parents in the unit.
func (c ParentChildConfig) most() int {
	switch {
	case c.Parent.Word == "":
		return c.Parent.N
	case c.ParentMax > 0:
		return c.ParentMax
	}
	n := 4000
	if c.Unit == unitChars {
		n = 8000
	}
	if c.Parent.Word == "document" {
		n *= 2
	}
	return n
}

func (c ParentChildConfig) child() int {
	if c.Unit == unitChars {
		return orDefault(c.Child, 500)
	}
	return orDefault(c.Child, 256)
}

// ParentChild is the strategy "parent_child": small-to-big retrieval, as LangChain's ParentDocumentRetriever and others do it. Children are
// embedded; parents are stored once, beside them, and a hit of a child is answered with its parent.
func ParentChild() connector.StrategyPlugin {
	return connector.Define("parent_child", "Small-to-big: small chunks are searched, the larger passage around the hit is the answer",
		ParentChildConfig{Parent: ParentSize{N: 1500}}, openParentChild)
}

func openParentChild(ctx context.Context, c *ParentChildConfig, env connector.StrategyEnv) (connector.Strategy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("parent_child: %w", err)
	}
	size := c.size(c.child())
	size.MinChars = 20
	base, err := openBase(ctx, c.Of, size, env)
	if err != nil {
		return nil, fmt.Errorf("parent_child: %w", err)
	}
	b, err := c.open(c.most(), env)
	if err != nil {
		return nil, fmt.Errorf("parent_child: %w", err)
	}
	return &nest{name: "parent_child", base: base, levels: []nestLevel{{b: b, sections: c.Parent.Word == "section"}}}, nil
}
