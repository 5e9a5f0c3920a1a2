package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"sync"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// memory is a source that keeps the rules, but for the planted fault.
type memory struct {
	fault   string
	docs    map[string]entry
	spoilt  string
	broken  bool
	stamp   int
	runs    int
	release chan struct{}
	workers sync.WaitGroup
}

type entry struct {
	data    []byte
	version int
}

func (m *memory) Capabilities() connector.SourceCapabilities {
	return connector.SourceCapabilities{Order: connector.OrderTree, Versions: true}
}

func (m *memory) Close() error { return nil }

func (m *memory) Changes(ctx context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		m.runs++
		if m.broken && m.fault != "hides the broken listing" {
			goOn := yield(connector.Change{}, errors.New("unplugged"))
			if m.fault != "goes on after the error" || !goOn {
				return
			}
		} else if m.broken {
			return
		}
		if m.fault == "leaves a goroutine" {
			m.workers.Go(func() { <-m.release })
		}
		for i, p := range m.order() {
			if err := ctx.Err(); err != nil && m.fault != "ignores the context" {
				if m.fault != "ends quietly when cancelled" {
					yield(connector.Change{}, err)
				}
				return
			}
			if p == m.spoilt {
				if m.fault == "is silent about a spoilt document" {
					continue
				}
				if m.fault == "ends at a spoilt document" {
					yield(connector.Change{}, errors.New("spoilt"))
					return
				}
				if !yield(connector.Change{}, &connector.DocError{Path: p, Err: errors.New("spoilt")}) {
					return
				}
				continue
			}
			more := yield(connector.Change{Document: m.document(i, p)}, nil)
			if m.fault == "lists twice" && more {
				more = yield(connector.Change{Document: m.document(i, p)}, nil)
			}
			if !more && m.fault != "ignores a consumer that stops" {
				return
			}
		}
	}
}

func (m *memory) order() []string {
	var out []string
	for p := range m.docs {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b string) int {
		if m.fault == "lists in byte order" {
			return bytes.Compare([]byte(a), []byte(b))
		}
		return bytes.Compare([]byte(connector.TreeKey(a)), []byte(connector.TreeKey(b)))
	})
	if m.fault == "loses one" && len(out) > 0 {
		out = out[1:]
	}
	return out
}

func (m *memory) document(i int, p string) connector.Document {
	e := m.docs[p]
	d := connector.Document{Path: p, URI: "mem:///" + p, Version: fmt.Sprint(e.version), Size: int64(len(e.data))}
	switch m.fault {
	case "starts paths with a slash":
		d.Path = "/" + p
	case "takes the base name":
		d.Path = path.Base(p)
	case "has no versions":
		d.Version = ""
	case "takes the size as version":
		d.Version = fmt.Sprint(len(e.data))
	case "makes up versions":
		d.Version = fmt.Sprint(m.runs, i)
	case "has the wrong size":
		d.Size++
	}
	shared := bytes.NewReader(e.data)
	d.Open = func(context.Context) (io.ReadCloser, error) {
		switch m.fault {
		case "shares one reader":
			return io.NopCloser(shared), nil
		case "cuts the content":
			return io.NopCloser(io.LimitReader(bytes.NewReader(e.data), 1000)), nil
		case "reads what is there now":
			return io.NopCloser(bytes.NewReader(m.docs[p].data)), nil
		case "reads half and half":
			return &live{m: m, path: p}, nil
		case "has the wrong class for a change":
			if m.docs[p].version != e.version {
				return nil, errors.New("changed")
			}
		}
		return io.NopCloser(bytes.NewReader(e.data)), nil
	}
	return d
}

// live reads at its offset from whatever the content is.
type live struct {
	m    *memory
	path string
	at   int
}

func (l *live) Read(p []byte) (int, error) {
	data := l.m.docs[l.path].data
	if l.at >= len(data) {
		return 0, io.EOF
	}
	n := copy(p, data[l.at:])
	l.at += n
	return n, nil
}

func (l *live) Close() error { return nil }

func fixture(fault string) (Fixture, *memory) {
	m := &memory{fault: fault, docs: map[string]entry{}, release: make(chan struct{})}
	put := func(_ testing.TB, p string, data []byte) {
		m.stamp++
		m.docs[p] = entry{bytes.Clone(data), m.stamp}
	}
	remove := func(_ testing.TB, p string) {
		if m.fault != "lists the deleted" {
			delete(m.docs, p)
		}
	}
	return Fixture{
		Open: func(testing.TB) connector.Source { return m },
		Put:  put, Delete: remove,
		Rename: func(tb testing.TB, from, to string) {
			put(tb, to, m.docs[from].data)
			if m.fault != "keeps the old name" {
				delete(m.docs, from)
			}
		},
		Spoil: func(_ testing.TB, p string) { m.spoilt = p },
		Break: func(testing.TB) { m.broken = true },
	}, m
}

func TestSound(t *testing.T) {
	Run(t, func(testing.TB) Fixture {
		f, _ := fixture("")
		return f
	})
}

// TestFaults plants one fault after the other: the rule that is about it must catch it.
func TestFaults(t *testing.T) {
	for fault, caught := range map[string]string{
		"starts paths with a slash":         "complete",
		"loses one":                         "complete",
		"lists twice":                       "complete",
		"has no versions":                   "complete",
		"lists in byte order":               "order",
		"makes up versions":                 "repeatable",
		"has the wrong size":                "content",
		"shares one reader":                 "content",
		"cuts the content":                  "content",
		"takes the size as version":         "versions",
		"lists the deleted":                 "absence",
		"keeps the old name":                "rename",
		"takes the base name":               "folders",
		"is silent about a spoilt document": "one spoilt document",
		"ends at a spoilt document":         "one spoilt document",
		"hides the broken listing":          "broken listing",
		"goes on after the error":           "broken listing",
		"ignores the context":               "cancelled",
		"ends quietly when cancelled":       "cancelled",
		"ignores a consumer that stops":     "consumer stops",
		"leaves a goroutine":                "complete",
		"reads what is there now":           "changed since listed",
		"has the wrong class for a change":  "changed since listed",
		"reads half and half":               "changed while read",
	} {
		t.Run(fault, func(t *testing.T) {
			for _, r := range rules() {
				if r.name != caught {
					continue
				}
				f, m := fixture(fault)
				err := r.run(t, f)
				close(m.release)
				m.workers.Wait()
				if err == nil {
					t.Fatalf("rule %q does not catch it", caught)
				}
				t.Log(err)
				return
			}
			t.Fatalf("no rule %q", caught)
		})
	}
}
