package pipeline

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/features"
)

// Measures are what is known of a document once it was looked at: figures of its beginning, and why a strategy that chooses chose.
type Measures struct {
	// Needed tells whether the document had to be cut, Why in words.
	Needed bool   `json:"needed"`
	Why    string `json:"why"`
	// Features are figures of the first 256 KiB of the parsed text.
	Features features.Features `json:"features"`
	// Decision is nil where the strategy is fixed.
	Decision *features.Decision `json:"decision,omitempty"`
}

// explainer is a strategy that chooses another one for each document.
type explainer interface {
	Explain(ctx context.Context, doc *connector.Document, elements iter.Seq2[connector.Element, error]) (*features.Decision, error)
}

// Measure looks at a document that [Preview.Chunks] explained, and fills the explanation's Measures. It parses the document again, and may ask a
// language model what the strategy asked it before. What no parser claims is left as it is.
func (v *Preview) Measure(ctx context.Context, source string, caps connector.SourceCapabilities, doc connector.Document, x *Explanation) error {
	if x.route == nil {
		return nil
	}
	_, elements, err := v.Elements(ctx, source, caps, doc)
	if err != nil {
		return err
	}
	x.Measures = &Measures{}
	if err := x.Measures.look(elements, x.route.strategy.Info()); err != nil {
		return err
	}
	if e, ok := x.route.strategy.(explainer); ok {
		x.Measures.Decision, err = e.Explain(ctx, &doc, elements)
	}
	return err
}

// bytesPerUnit bounds how much text is held to see whether it fits: no text that fits has as many bytes in a token.
const bytesPerUnit = 64

// look measures features, and whether the whole text fits one chunk.
func (m *Measures) look(elements iter.Seq2[connector.Element, error], info connector.StrategyInfo) error {
	most := 0
	for _, c := range info.Caps {
		most = max(most, c.Max*bytesPerUnit)
	}
	var meter features.Meter
	var text strings.Builder
	complete := true
	for el, err := range elements {
		if err != nil {
			return err
		}
		meter.Add(&el)
		if el.Kind != connector.KindDropped && text.Len() <= most {
			text.WriteString(el.Text)
		}
		if meter.Full() && text.Len() > most {
			complete = false
			break
		}
	}
	m.Features = meter.Features(complete)
	m.Needed, m.Why = needed(info.Caps, strings.TrimSpace(text.String()), most)
	return nil
}

func needed(caps []connector.Cap, text string, most int) (bool, string) {
	if len(caps) == 0 {
		return false, "the strategy has no cap"
	}
	var sizes []string
	for _, c := range caps {
		if len(text) > most {
			return true, fmt.Sprintf("the text does not fit one chunk of %d %s", c.Max, c.Counter.Name())
		}
		n := c.Counter.Count(text)
		if n > c.Max {
			return true, fmt.Sprintf("the text has %d %s, a chunk holds %d", n, c.Counter.Name(), c.Max)
		}
		sizes = append(sizes, fmt.Sprintf("%d of %d %s", n, c.Max, c.Counter.Name()))
	}
	return false, "the whole text fits one chunk: " + strings.Join(sizes, ", ")
}
