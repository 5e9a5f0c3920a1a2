package strategies

import (
	"hash/fnv"
	"iter"
	"reflect"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// surroundings gives chunks the text around them. The chunks of a document are divided into windows at places that the text itself decides, so
// that an edit changes what is shown with the chunks nearby alone, and all chunks of a window are shown with the same text, which services
// that keep the beginnings of requests have to read once.
type surroundings struct {
	tokens func(string) int
	most   int // of a window
}

// leadIn is how many of the chunks before a window are shown with it: a first chunk often refers to them.
const leadIn = 1

// of yields the chunks of a document, each with the text of its window. A document of one chunk has nothing around it. A window is held
// in memory.
func (w *surroundings) of(chunks iter.Seq2[connector.Chunk, error]) iter.Seq2[situated, error] {
	return func(yield func(situated, error) bool) {
		var window, before []connector.Chunk
		size, windows := 0, 0
		flush := func(last bool) bool {
			around := ""
			if windows++; windows > 1 || !last || seen(window) > 1 {
				around = joined(append(before[:len(before):len(before)], window...))
			}
			for _, c := range window {
				if !yield(situated{c, around}, nil) {
					return false
				}
			}
			before = append(before[:0:0], window[max(0, len(window)-leadIn):]...)
			window, size = nil, 0
			return true
		}
		for c, err := range chunks {
			if err != nil {
				if flush(true) {
					yield(situated{}, err)
				}
				return
			}
			n := w.tokens(c.Text)
			if len(window) > 0 && (size+n > w.most || size > w.most/3 && w.begins(&c, n)) && !flush(false) {
				return
			}
			window, size = append(window, c), size+n
		}
		flush(true)
	}
}

// begins tells whether a window begins at a chunk wherever the one before it did: about one chunk in the half of a window does.
func (w *surroundings) begins(c *connector.Chunk, size int) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Text))
	x := h.Sum64()
	x ^= x >> 31
	return x%uint64(max(1, w.most/(2*max(1, size)))) == 0
}

// seen counts the chunks that are searched.
func seen(chunks []connector.Chunk) int {
	n := 0
	for i := range chunks {
		if !chunks[i].StoreOnly {
			n++
		}
	}
	return n
}

// joined is the text of chunks in a row, each part of it once.
func joined(chunks []connector.Chunk) string {
	var b strings.Builder
	end := 0
	for i := range chunks {
		c := &chunks[i]
		if c.StoreOnly {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if c.Rendered || c.Generated {
			b.WriteString(c.Text)
			continue
		}
		at := 0
		for _, s := range c.Spans {
			if from := max(s.Start, end); from < s.End {
				b.WriteString(c.Text[at+from-s.Start : at+s.Len()])
				end = s.End
			}
			at += s.Len()
		}
	}
	return b.String()
}

// copyOf copies the configuration of a strategy whose size can be told.
func copyOf(config any) (any, bool) {
	if _, ok := config.(sized); !ok {
		return nil, false
	}
	v := reflect.ValueOf(config)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, false
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	return c.Interface(), true
}
