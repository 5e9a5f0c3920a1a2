package pipeline

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
)

// Finding is what the sink would make of a field, and where it was met.
type Finding struct {
	connector.Finding
	// Where is the rule that sets the field, or the first document that has it.
	Where string `json:"where"`
	// Count is the number of chunks, in a plan.
	Count int `json:"count,omitempty"`
}

// Compile checks, offline, what is known of metadata before a document is read against the sink's mapping: the metadata of rules
// and the names of front matter keys. What the sink could not store at all is an error.
func Compile(file *config.File, model connector.Model, caps connector.SinkCapabilities) ([]Finding, error) {
	var out []Finding
	for i := range file.Rules {
		rule := &file.Rules[i]
		for _, key := range sortedKeys(rule.Metadata) {
			for _, f := range caps.Mapping.Check(key, rule.Metadata[key]) {
				out = append(out, Finding{Finding: f, Where: rule.Name})
			}
		}
	}
	for _, key := range file.FrontMatter {
		for _, f := range caps.Mapping.Check(key, "") { // the values are not known yet
			out = append(out, Finding{Finding: f, Where: "front_matter"})
		}
	}
	var refused []string
	for _, f := range out {
		if f.Treatment == connector.TreatRefused {
			refused = append(refused, fmt.Sprintf("%s: the sink refuses metadata %q: %s", f.Where, f.Field, f.Detail))
		}
	}
	if err := checkModel(model, caps); err != nil {
		refused = append(refused, err.Error())
	}
	if len(refused) > 0 {
		return out, UsageErrorf("%s", strings.Join(refused, "\n"))
	}
	return out, nil
}

// checkModel compares the vectors that the embedder makes with what the sink takes.
func checkModel(model connector.Model, caps connector.SinkCapabilities) error {
	if model.Budget > 0 && model.PricePerMillion <= 0 {
		return UsageErrorf("embedder %s: a budget needs the price of the model %s, which is not known here", model.Provider, model.Name)
	}
	if caps.MaxDimensions > 0 && model.Dimensions > caps.MaxDimensions {
		return UsageErrorf("embedder %s gives %d dimensions, but the sink takes at most %d: choose fewer dimensions or another sink",
			model.Name, model.Dimensions, caps.MaxDimensions)
	}
	if m := caps.Mapping; m != nil && len(m.Distances) > 0 && caps.Distance != "" && !slices.Contains(m.Distances, caps.Distance) {
		return UsageErrorf("the sink cannot compare vectors by %s: choose one of %s", caps.Distance, strings.Join(m.Distances, ", "))
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// findings collects what a plan meets, once for each field and treatment.
type findings struct {
	mapping *connector.Mapping
	seen    map[connector.Finding]*Finding
	order   []*Finding
}

// add checks a record; it gives the reason if the sink would refuse it.
func (f *findings) add(r *connector.Record) string {
	m := f.mapping
	if m == nil {
		return ""
	}
	refused := ""
	note := func(found connector.Finding) {
		if found.Treatment == connector.TreatRefused && refused == "" {
			refused = "the sink would refuse " + found.String()
		}
		if f.seen == nil {
			f.seen = map[connector.Finding]*Finding{}
		}
		x := f.seen[found]
		if x == nil {
			if len(f.order) >= maxRows {
				return
			}
			x = &Finding{Finding: found, Where: r.Source + ": " + r.Path}
			f.seen[found] = x
			f.order = append(f.order, x)
		}
		x.Count++
	}
	if m.MaxTextBytes > 0 {
		if n := max(len(r.Content), len(r.EmbedText)); n > m.MaxTextBytes {
			note(connector.Finding{Field: "content", Treatment: connector.TreatRefused, Detail: fmt.Sprintf("over %d bytes", m.MaxTextBytes)})
		}
	}
	size := 0
	for _, key := range sortedKeys(r.Metadata) {
		if own[key] {
			continue
		}
		for _, found := range m.Check(key, r.Metadata[key]) {
			note(found)
		}
		size += len(key) + len(fmt.Sprint(r.Metadata[key]))
	}
	if m.MaxRecordBytes > 0 && size > m.MaxRecordBytes {
		note(connector.Finding{Field: "metadata", Treatment: connector.TreatRefused, Detail: fmt.Sprintf("over %d bytes in all", m.MaxRecordBytes)})
	}
	return refused
}

func (f *findings) list() []Finding {
	out := make([]Finding, len(f.order))
	for i, x := range f.order {
		out[i] = *x
	}
	return out
}

// own are the metadata that every record has and every sink declares: there is nothing to find out about them.
var own = map[string]bool{
	"source": true, "path": true, "uri": true, "title": true, "media_type": true, "language": true, "strategy": true, "doc_id": true, "pipeline": true, "modified_at": true,
	"section": true, "headings": true, "page": true, "line_start": true, "line_end": true, "chunk_index": true, "total_chunks": true, "is_first_chunk": true,
	"is_last_chunk": true, "parent_id": true, "prev_id": true, "next_id": true, "content_hash": true,
}

// SinkCapabilities opens the configured sink, without asking it anything, and gives what it says of itself.
func SinkCapabilities(ctx context.Context, file *config.File, reg *connector.Registry) (connector.SinkCapabilities, error) {
	p := &Pipeline{file: file, reg: reg}
	if err := p.openSink(ctx); err != nil {
		return connector.SinkCapabilities{}, err
	}
	return p.sink.Capabilities(), p.sink.Close()
}
