package pipeline

import (
	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/internal/neardup"
)

// nearMetadata is the metadata key under which a chunk says how many near copies it stands for.
const nearMetadata = "near_duplicates"

// deduper finds the chunks of one document that an earlier one stands for. A nil one finds none.
type deduper struct {
	first  map[[16]byte]int // index by hash
	near   *neardup.Index   // nil: exact copies alone
	ids    []connector.UUID // of the chunks that stay, by index
	spans  map[int][]connector.Span
	copies map[int]int // near ones, by the index of the chunk that stays
	left   int         // chunks left out
}

// nearThreshold is the configured one.
func nearThreshold(file *config.File) float64 {
	if file.Near.Threshold > 0 {
		return file.Near.Threshold
	}
	return neardup.DefaultThreshold
}

// newDeduper is for one document.
func newDeduper(file *config.File) (*deduper, error) {
	if file.Dedup != "exact" && file.Dedup != "near" {
		return nil, nil
	}
	d := &deduper{first: map[[16]byte]int{}}
	if file.Dedup == "near" {
		x, err := neardup.New(nearThreshold(file))
		if err != nil {
			return nil, &UsageError{err}
		}
		d.near, d.copies = x, map[int]int{}
	}
	return d, nil
}

// repeats looks for a chunk that stands for this one, which would be the index-th; its spans are then noted. Chunks that are only stored stay: others
// name them. So do those whose vector knows the text around them: the same words mean something else elsewhere. What was rendered or
// written by a model is left out only where it is exactly the same: every value of its spans must be in its text.
func (d *deduper) repeats(ch *connector.Chunk, pc *piece, index int) (id connector.UUID, dup bool) {
	if d == nil || ch.StoreOnly || ch.Late {
		return id, false
	}
	short := [16]byte(pc.Hash[:16])
	at, dup := d.first[short]
	if !dup && d.near != nil && !ch.Rendered && !ch.Generated {
		if at, dup = d.near.Add(index, pc.embedText()); dup {
			d.copies[at]++
		}
	}
	if !dup {
		d.first[short] = index
		return id, false
	}
	if d.spans == nil {
		d.spans = map[int][]connector.Span{}
	}
	d.spans[at] = append(d.spans[at], pc.Spans...)
	d.left++
	return d.ids[at], true
}

// stays notes the id of a chunk that stays.
func (d *deduper) stays(id connector.UUID) {
	if d != nil {
		d.ids = append(d.ids, id)
	}
}

// standFor adds to a chunk the spans of those that it stands for, and says how many of them are not exactly its own text.
func (d *deduper) standFor(pc *piece, index int) {
	if d == nil {
		return
	}
	if extra := d.spans[index]; extra != nil {
		pc.Spans = append(append([]connector.Span{}, pc.Spans...), extra...)
	}
	if n := d.copies[index]; n > 0 {
		m := make(map[string]any, len(pc.Metadata)+1)
		for k, v := range pc.Metadata {
			m[k] = v
		}
		m[nearMetadata] = n
		pc.Metadata = m
	}
}

// leftOut is how many chunks were left out.
func (d *deduper) leftOut() int {
	if d == nil {
		return 0
	}
	return d.left
}
