package acceptance

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
)

// paged is a folder that behaves as an object store does: it lists in pages, names versions by content, reads from an offset and says
// at the opening what it gives. faults, of the rig, are planted in it.
type paged struct {
	root   string
	faults *pagedFaults
	next   string // the last path that was listed
}

type pagedConfig struct {
	Root string `yaml:"root"`
}

const pageSize = 3

// pagedFaults are hooks; nil ones do nothing.
type pagedFaults struct {
	page func(n int) error                        // before the n-th page of the rig's life is listed
	open func(path string, offset int64) error    // before a document is opened
	read func(path string, offset, n int64) error // after n bytes of a reading that began at offset
	fact func(path string, f *connector.Facts)    // what the reader says

	mu    sync.Mutex
	pages int
	opens map[string]int
}

func (f *pagedFaults) opened(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opens == nil {
		f.opens = map[string]int{}
	}
	f.opens[path]++
	return f.opens[path]
}

func pagedPlugin(r *rig) connector.SourcePlugin {
	return connector.Define("paged", "a folder as an object store", pagedConfig{}, func(_ context.Context, c *pagedConfig, _ connector.Env) (connector.Source, error) {
		f := r.paged
		if f == nil {
			f = &pagedFaults{}
		}
		return &paged{root: c.Root, faults: f}, nil
	})
}

var _ connector.Resumer = (*paged)(nil)

func (p *paged) Capabilities() connector.SourceCapabilities {
	return connector.SourceCapabilities{Versions: true}
}
func (p *paged) Close() error { return nil }

func (p *paged) Changes(ctx context.Context) iter.Seq2[connector.Change, error] {
	p.next = ""
	return p.Resume(ctx)
}

func (p *paged) Resume(ctx context.Context) iter.Seq2[connector.Change, error] {
	return func(yield func(connector.Change, error) bool) {
		var names []string
		err := filepath.WalkDir(p.root, func(name string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				rel, _ := filepath.Rel(p.root, name)
				names = append(names, filepath.ToSlash(rel))
			}
			return err
		})
		if err != nil {
			yield(connector.Change{}, err)
			return
		}
		slices.Sort(names)
		at, _ := slices.BinarySearch(names, p.next+"\x00")
		for page := range slices.Chunk(names[at:], pageSize) {
			p.faults.mu.Lock()
			p.faults.pages++
			n := p.faults.pages
			p.faults.mu.Unlock()
			if p.faults.page != nil {
				if err := p.faults.page(n); err != nil {
					yield(connector.Change{}, err)
					return
				}
			}
			for _, name := range page {
				doc, err := p.document(name)
				if err == nil {
					err = ctx.Err()
				}
				p.next = name
				if !yield(connector.Change{Document: doc}, err) {
					return
				}
			}
		}
	}
}

func (p *paged) document(name string) (connector.Document, error) {
	content, err := p.content(name)
	return connector.Document{
		Path: name, URI: "paged://" + name, Version: version(content), Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) { return p.reader(name, 0, "") },
		OpenAt: func(_ context.Context, offset int64, version string) (io.ReadCloser, error) {
			return p.reader(name, offset, version)
		},
	}, err
}

func version(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

func (p *paged) content(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(p.root, filepath.FromSlash(name)))
}

func (p *paged) reader(name string, offset int64, want string) (io.ReadCloser, error) {
	if p.faults.open != nil {
		if err := p.faults.open(name, offset); err != nil {
			return nil, err
		}
	}
	content, err := p.content(name)
	if err != nil {
		return nil, err
	}
	if want != "" && want != version(content) {
		return nil, connector.Errorf(connector.ClassChanged, "paged: another version is there")
	}
	f := connector.Facts{Version: version(content)}
	if p.faults.fact != nil {
		p.faults.fact(name, &f)
	}
	return &pagedReader{r: bytes.NewReader(content[offset:]), p: p, name: name, offset: offset, facts: f}, nil
}

type pagedReader struct {
	r         *bytes.Reader
	p         *paged
	name      string
	offset, n int64
	facts     connector.Facts
}

func (r *pagedReader) Facts() connector.Facts { return r.facts }
func (r *pagedReader) Close() error           { return nil }

func (r *pagedReader) Read(b []byte) (int, error) {
	if r.p.faults.read != nil {
		if err := r.p.faults.read(r.name, r.offset, r.n); err != nil {
			return 0, err
		}
	}
	n, err := r.r.Read(b[:min(len(b), 1000)])
	r.n += int64(n)
	return n, err
}

func pagedRig(t *testing.T, documents int) *rig {
	t.Helper()
	r := newRig(t, "", "sync: { retries: 3, concurrency: 2 }")
	r.yaml = strings.Replace(r.yaml, "fs: {", "paged: {", 1)
	r.paged = &pagedFaults{}
	for i := range documents {
		r.write(fmt.Sprintf("%02d.txt", i), paragraphs(fmt.Sprint("text ", i), 30))
	}
	return r
}

var errBusy = connector.Errorf(connector.ClassTransient, "paged: 503 slow down")

// TestListingResumes: passing faults of pages are waited out, page by page, and nothing is listed twice.
func TestListingResumes(t *testing.T) {
	r := pagedRig(t, 20)
	asked := 0
	r.paged.page = func(int) error {
		if asked++; asked%2 == 1 { // each page fails once
			return errBusy
		}
		return nil
	}
	if res := r.sync(); res.Documents.Added != 20 {
		t.Fatalf("%+v", res)
	}
	r.exact()
}

// TestListingThatStaysBusyDeletesNothing: after the last try, the listing counts as broken; the next run goes on.
func TestListingThatStaysBusyDeletesNothing(t *testing.T) {
	r := pagedRig(t, 20)
	r.sync()
	r.remove("03.txt")
	r.write("00.txt", paragraphs("new", 3))
	begin := r.paged.pages
	r.paged.page = func(n int) error {
		if n > begin+2 {
			return errBusy
		}
		return nil
	}
	res, err := r.trySync(pipeline.SyncOptions{})
	if pipeline.ExitCode(err) != pipeline.ExitUnreachable || res.Documents.Updated != 1 || res.Documents.Deleted != 0 || len(res.Errors) != 1 {
		t.Fatalf("%v %+v", err, res)
	}
	if !strings.Contains(err.Error(), "gave up after 4 tries") || !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
	if docs := byDocument(r.export()); len(docs) != 20 {
		t.Fatalf("%d documents are left", len(docs))
	}
	r.paged.page = nil
	if res := r.sync(); res.Documents.Deleted != 1 || res.Documents.Unchanged != 19 {
		t.Fatalf("%+v", res)
	}
	r.exact()
}

// TestReadingResumes: a reading that breaks goes on at the byte where it broke.
func TestReadingResumes(t *testing.T) {
	r := pagedRig(t, 3)
	var offsets []int64
	var mu sync.Mutex
	r.paged.open = func(path string, offset int64) error {
		mu.Lock()
		defer mu.Unlock()
		if path == "01.txt" {
			offsets = append(offsets, offset)
			if len(offsets)%3 == 2 {
				return errBusy
			}
		}
		return nil
	}
	r.paged.read = func(path string, offset, n int64) error {
		if path == "01.txt" && n >= 1000 && offset < 2000 {
			return errBusy
		}
		return nil
	}
	if res := r.sync(); res.Documents.Added != 3 {
		t.Fatalf("%+v", res)
	}
	if want := []int64{0, 1000, 1000, 2000}; !slices.Equal(offsets, want) {
		t.Errorf("opened at %v, want %v", offsets, want)
	}
	r.exact()
}

// TestReadingThatChangesStartsAgainNextTime: a version that is gone in the middle of a reading is never mixed with the next one.
func TestReadingThatChanges(t *testing.T) {
	r := pagedRig(t, 3)
	r.sync()
	old := byDocument(r.export())["01.txt"]
	r.write("01.txt", paragraphs("second", 30))
	r.paged.read = func(path string, offset, n int64) error {
		if path == "01.txt" && n >= 1000 && offset == 0 {
			r.write("01.txt", paragraphs("third", 30))
			return errBusy
		}
		return nil
	}
	res, err := r.trySync(pipeline.SyncOptions{})
	if pipeline.ExitCode(err) != pipeline.ExitFailed || res.Documents.Failed != 1 {
		t.Fatalf("%v %+v", err, res)
	}
	if now := byDocument(r.export())["01.txt"]; fmt.Sprint(now) != fmt.Sprint(old) {
		t.Fatal("half of a version was stored")
	}
	r.paged.read = nil
	r.sync()
	r.exact()
}

// TestTruncatedReading: a body that ends early is no short document.
func TestTruncatedReading(t *testing.T) {
	r := pagedRig(t, 3)
	cut := true
	r.paged.read = func(path string, offset, n int64) error {
		if cut && path == "01.txt" && n >= 1000 {
			return io.EOF
		}
		return nil
	}
	r.paged.open = func(_ string, offset int64) error {
		cut = cut && offset == 0
		return nil
	}
	r.sync()
	r.exact()
}

// TestOverwrittenAfterListing: what is read is stored under the version that was read, so the next run has nothing to do.
func TestOverwrittenAfterListing(t *testing.T) {
	r := pagedRig(t, 7)
	r.paged.open = func(path string, _ int64) error {
		if path == "04.txt" && r.paged.opened(path) == 1 {
			r.write(path, paragraphs("overwritten", 9))
		}
		return nil
	}
	r.sync()
	r.exact()
	if res := r.sync(); res.Documents.Unchanged != 7 || res.BytesRead != 0 {
		t.Fatalf("%+v", res)
	}
}

// TestCredentialsThatRunOut end the run with a clear error; no document is blamed, nothing is deleted, and the next run goes on.
func TestCredentialsThatRunOut(t *testing.T) {
	expired := connector.Errorf(connector.ClassCredentials, "s3: ExpiredToken: the provided token has expired")
	for _, where := range []string{"reading", "listing"} {
		t.Run(where, func(t *testing.T) {
			r := pagedRig(t, 20)
			if where == "reading" {
				r.paged.open = func(path string, _ int64) error {
					if path >= "08.txt" {
						return expired
					}
					return nil
				}
			} else {
				r.paged.page = func(n int) error {
					if n > 3 {
						return expired
					}
					return nil
				}
			}
			res, err := r.trySync(pipeline.SyncOptions{})
			if pipeline.ExitCode(err) != pipeline.ExitUnreachable || !strings.Contains(err.Error(), "ExpiredToken") || !strings.Contains(err.Error(), "credentials") {
				t.Fatalf("exit %d: %v", pipeline.ExitCode(err), err)
			}
			// Of the eight before it, one may not have been opened yet by the other worker: then it is left for the next run.
			if res.Documents.Failed != 0 || len(res.Errors) != 1 || res.Documents.Added < 7 {
				t.Fatalf("%+v", res)
			}
			done := res.Documents.Added
			r.paged.open, r.paged.page = nil, nil
			if res := r.sync(); res.Documents.Unchanged != done || res.Documents.Added != 20-done {
				t.Fatalf("%d were done, then %+v", done, res)
			}
			r.exact()
		})
	}
}

// TestSourceThatGoesAwayWhileItIsRead: a service that is down ends the run after some documents, not after each of them; one document
// that alone cannot be read is named and the run goes on.
func TestSourceThatGoesAwayWhileItIsRead(t *testing.T) {
	r := pagedRig(t, 40)
	r.paged.open = func(path string, _ int64) error {
		if path == "05.txt" {
			return errBusy
		}
		return nil
	}
	res, err := r.trySync(pipeline.SyncOptions{})
	if pipeline.ExitCode(err) != pipeline.ExitFailed || res.Documents.Failed != 1 || res.Documents.Added != 39 || r.paged.opened("05.txt") != 1 {
		t.Fatalf("%v %+v", err, res)
	}
	for i := range 40 {
		r.write(fmt.Sprintf("%02d.txt", i), paragraphs(fmt.Sprint("again ", i), 3))
	}
	tried := map[string]bool{}
	var mu sync.Mutex
	r.paged.open = func(path string, _ int64) error {
		mu.Lock()
		defer mu.Unlock()
		if path >= "10.txt" {
			tried[path] = true
			return errBusy
		}
		return nil
	}
	if res, err = r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitUnreachable || len(tried) > 10 || res.Documents.Deleted != 0 {
		t.Fatalf("%d documents tried: %v %+v", len(tried), err, res)
	}
	r.paged.open = nil
	r.sync()
	r.exact()
}

// TestFactsOfTheReader: tags become metadata, also where they alone changed; a packed body is unpacked; a media type counts.
func TestFactsOfTheReader(t *testing.T) {
	r := pagedRig(t, 2)
	plain := []byte("# Title\n\n" + paragraphs("packed", 20))
	r.write("00", string(gzipped(t, plain)))
	r.write("mislabelled.md", "# Not packed\n\nBut labelled so.\n")
	team := "docs"
	r.paged.fact = func(path string, f *connector.Facts) {
		switch path {
		case "00":
			f.MediaType, f.Encoding = "text/markdown; charset=utf-8", "gzip"
		case "01.txt":
			f.Metadata = map[string]any{"team": team, "n": 3}
			f.ModifiedAt = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
			f.Version += team
		case "mislabelled.md":
			f.Encoding = "gzip"
		}
	}
	r.sync()
	docs := map[string]connector.Record{}
	for _, rec := range r.export() {
		docs[rec.Path] = rec
	}
	if d := docs["00"]; !strings.Contains(d.Content, "packed") || d.Metadata["media_type"] != "text/markdown" || d.Metadata["title"] != "Title" {
		t.Errorf("packed: %q %v", d.Content, d.Metadata)
	}
	if d := docs["mislabelled.md"]; !strings.Contains(d.Content, "labelled so") {
		t.Errorf("mislabelled: %q", d.Content)
	}
	if d := docs["01.txt"]; d.Metadata["team"] != "docs" || d.Metadata["modified_at"] != "2024-05-06T07:08:09Z" {
		t.Errorf("facts: %v", d.Metadata)
	}
	before := r.embeds.Load()
	team = "legal"
	r.sync()
	for _, rec := range r.export() {
		if rec.Path == "01.txt" && rec.Metadata["team"] != "legal" {
			t.Errorf("changed metadata is not stored: %v", rec.Metadata)
		}
	}
	if n := r.embeds.Load() - before; n != 0 {
		t.Errorf("%d texts were embedded for changed metadata", n)
	}
	r.paged.fact = func(path string, f *connector.Facts) { f.Encoding = "br" }
	r.write("br.txt", "never seen")
	if res, err := r.trySync(pipeline.SyncOptions{}); pipeline.ExitCode(err) != pipeline.ExitFailed || !strings.Contains(res.Errors[0].Error, `"br"`) {
		t.Errorf("%v %+v", err, res)
	}
}

func gzipped(tb testing.TB, b []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(b); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}
