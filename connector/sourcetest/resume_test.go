package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// pager lists a memory in pages, goes on where it broke, and reads from an offset, but for the planted fault.
type pager struct {
	*memory
	next   int // of the listing
	outage bool
}

const page = 3

func (p *pager) Capabilities() connector.SourceCapabilities {
	return connector.SourceCapabilities{Versions: true}
}

func (p *pager) Changes(ctx context.Context) iter.Seq2[connector.Change, error] {
	p.next = 0
	return p.Resume(ctx)
}

func (p *pager) Resume(ctx context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		if p.fault == "starts again" {
			p.next = 0
		}
		for paths := p.order(); p.next < len(paths); {
			if p.outage && (p.next%page == 0 || p.fault == "stops in the middle of a page and forgets the rest") {
				if p.fault == "ends quietly in an outage" {
					return
				}
				class := connector.ClassTransient
				if p.fault == "has the wrong class for an outage" {
					class = connector.ClassInvalid
				}
				if p.fault == "stops in the middle of a page and forgets the rest" {
					p.next += page
				}
				yield(connector.Change{}, connector.Errorf(class, "503"))
				return
			}
			if err := ctx.Err(); err != nil {
				yield(connector.Change{}, err)
				return
			}
			i := p.next
			p.next++
			if !yield(connector.Change{Document: p.at(i, paths[i])}, nil) {
				return
			}
		}
	}
}

// opened names the version that it reads.
type opened struct {
	io.ReadCloser
	version string
}

func (o opened) Facts() connector.Facts { return connector.Facts{Version: o.version} }

func (p *pager) at(i int, path string) connector.Document {
	d := p.document(i, path)
	d.Open = func(context.Context) (io.ReadCloser, error) {
		now := p.document(i, path)
		if p.fault == "names the listed version" {
			now.Version = d.Version
		}
		return opened{io.NopCloser(bytes.NewReader(p.docs[path].data)), now.Version}, nil
	}
	d.OpenAt = func(_ context.Context, offset int64, version string) (io.ReadCloser, error) {
		e := p.docs[path]
		if p.document(i, path).Version != version && p.fault != "goes on with another version" {
			if p.fault == "has the wrong class for another version" {
				return nil, errors.New("412")
			}
			return nil, connector.Errorf(connector.ClassChanged, "412")
		}
		switch p.fault {
		case "goes on at the wrong byte":
			offset--
		case "refuses the end":
			if int(offset) == len(e.data) {
				return nil, errors.New("416")
			}
		}
		return io.NopCloser(bytes.NewReader(e.data[offset:])), nil
	}
	return d
}

func pagerFixture(fault string) (Fixture, *memory) {
	f, m := fixture(fault)
	p := &pager{memory: m}
	f.Open = func(testing.TB) connector.Source { return p }
	f.Spoil, f.Break = nil, nil
	f.Outage = func(testing.TB) func() {
		p.outage = true
		return func() { p.outage = false }
	}
	return f, m
}

func TestSoundPager(t *testing.T) {
	Run(t, func(testing.TB) Fixture {
		f, _ := pagerFixture("")
		return f
	})
}

func TestPagerFaults(t *testing.T) {
	for fault, caught := range map[string]string{
		"starts again":                                       "resumed listing",
		"ends quietly in an outage":                          "resumed listing",
		"has the wrong class for an outage":                  "resumed listing",
		"goes on at the wrong byte":                          "resumed reading",
		"goes on with another version":                       "resumed reading",
		"refuses the end":                                    "resumed reading",
		"names the listed version":                           "changed since listed",
		"stops in the middle of a page and forgets the rest": "resumed listing",
		"has the wrong class for another version":            "resumed reading",
	} {
		t.Run(fault, func(t *testing.T) {
			f, _ := pagerFixture(fault)
			i := slices.IndexFunc(rules(), func(r rule) bool { return r.name == caught })
			err := rules()[i].run(t, f)
			if err == nil {
				t.Fatalf("rule %q does not catch it", caught)
			}
			t.Log(err)
		})
	}
}
