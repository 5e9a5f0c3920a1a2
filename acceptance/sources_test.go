package acceptance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/internal/objects/objectstest"
	"github.com/kbsync/kbsync/internal/servers"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// store is a system that holds a copy of a corpus: the source that lists it, and the ways to change it.
type store struct {
	source string // as in sources: [{ name: docs, HERE }]
	put    func(t *testing.T, path string, content []byte)
	remove func(t *testing.T, path string)
	// done makes changes visible, where they are not at once.
	done func(t *testing.T)
}

// stores are every kind of source but sql, each with an empty copy.
func stores() map[string]func(t *testing.T) store {
	return map[string]func(t *testing.T) store{
		"fs": fsPlace, "s3": s3Place, "gcs": gcsPlace, "azblob": azblobPlace, "http": httpPlace, "git": gitPlace,
	}
}

// folder is a store that is a folder.
func folder(dir string) store {
	return store{
		put: func(t *testing.T, name string, content []byte) {
			t.Helper()
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o644)); err != nil {
				t.Fatal(err)
			}
		},
		remove: func(t *testing.T, name string) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		},
		done: func(*testing.T) {},
	}
}

func fsPlace(t *testing.T) store {
	dir := t.TempDir()
	p := folder(dir)
	p.source = fmt.Sprintf("fs: { root: %q }", dir)
	p.done = func(t *testing.T) {
		t.Helper()
		(&rig{tb: t, docs: dir}).settle()
	}
	return p
}

const prefix = "kb/2026/"

func s3Place(t *testing.T) store {
	proxy := objectstest.StartProxy(t, servers.Start(t, "versitygw").Addr)
	bucket := objectstest.NewS3Bucket(t, proxy.Addr, "corpus")
	bucket.Put(t, "elsewhere.txt", []byte("outside the prefix"))
	bucket.Put(t, prefix, nil) // a folder marker
	return inBucket(bucket, fmt.Sprintf("s3: { bucket: corpus, prefix: %s, endpoint: %q, region: %s, access_key: %s, secret_key: %s }",
		prefix, proxy.URL, objectstest.S3Region, objectstest.S3AccessKey, objectstest.S3SecretKey))
}

// inBucket is a store that is a bucket, listed by a source that takes the prefix off.
func inBucket(bucket objectstest.Bucket, source string) store {
	return store{
		source: source,
		put:    func(t *testing.T, name string, content []byte) { bucket.Put(t, prefix+name, content) },
		remove: func(t *testing.T, name string) { bucket.Delete(t, prefix+name) },
		done:   func(*testing.T) {},
	}
}

func gcsPlace(t *testing.T) store {
	addr := servers.Start(t, "fake-gcs").Addr
	return inBucket(objectstest.NewGCSBucket(t, addr, "corpus"), fmt.Sprintf("gcs: { bucket: corpus, prefix: %s, endpoint: %q, anonymous: true }", prefix, "http://"+addr))
}

func azblobPlace(t *testing.T) store {
	addr := servers.Start(t, "azurite").Addr
	return inBucket(objectstest.NewAzureContainer(t, addr, "corpus"), fmt.Sprintf("azblob: { account: %s, container: corpus, prefix: %s, endpoint: %q, account_key: %q }",
		objectstest.AzureAccount, prefix, "http://"+addr+"/"+objectstest.AzureAccount, objectstest.AzureKey))
}

// httpPlace is a site with a sitemap, whose pages have entity tags.
func httpPlace(t *testing.T) store {
	dir := t.TempDir()
	p := folder(dir)
	var site *httptest.Server
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Join(dir, filepath.FromSlash(path.Clean("/"+strings.TrimPrefix(r.URL.Path, "/docs/"))))
		switch {
		case r.URL.Path == "/sitemap.xml":
			w.Header().Set("Content-Type", "application/xml")
			_, _ = w.Write(sitemap(t, dir, site.URL+"/docs/"))
		case !strings.HasPrefix(r.URL.Path, "/docs/"):
			http.NotFound(w, r)
		default:
			content, err := os.ReadFile(name)
			if err != nil {
				http.NotFound(w, r)
				return
			}
			sum := sha256.Sum256(content)
			w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
			http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
		}
	}))
	t.Cleanup(site.Close)
	p.source = fmt.Sprintf("http: { sitemap: [%q], base: %q, rate: 0, allow_private: true }", site.URL+"/sitemap.xml", site.URL+"/docs/")
	return p
}

func sitemap(t *testing.T, dir, base string) []byte {
	type entry struct {
		Loc string `xml:"loc"`
	}
	set := struct {
		XMLName xml.Name `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		URLs    []entry  `xml:"url"`
	}{}
	for name := range files(t, dir) {
		u := url.URL{Path: name}
		set.URLs = append(set.URLs, entry{base + u.EscapedPath()})
	}
	b, err := xml.Marshal(set)
	if err != nil {
		t.Error(err)
	}
	return b
}

// files are the files below a folder, by slash path.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		out[filepath.ToSlash(rel)] = content
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// gitPlace is a repository; each change is a commit.
func gitPlace(t *testing.T) store {
	dir := t.TempDir()
	repo, err := git.PlainInit(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	p := folder(dir)
	p.source = fmt.Sprintf("git: { url: %q }", dir)
	p.done = func(t *testing.T) {
		t.Helper()
		tree, err := repo.Worktree()
		if err == nil {
			err = tree.AddWithOptions(&git.AddOptions{All: true})
		}
		if err == nil {
			_, err = tree.Commit("change", &git.CommitOptions{Author: &object.Signature{Name: "test", Email: "test@example.com"}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// corpusOf is a corpus of real documents of every parsed kind, and some with names that systems spell differently.
func corpusOf(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	fixtures := filepath.Join(shareddata.Dir(t), "fixtures")
	for _, part := range []string{"code_pygments_BSD2", "dialog_zh_kdconv_Apache2", "html_zh_clreq_W3C", "latex_zh_thuthesis_LPPL"} {
		for name, content := range files(t, filepath.Join(fixtures, part)) {
			if len(content) < 200_000 {
				out[part+"/"+name] = content
			}
		}
	}
	for i, name := range []string{
		"手册/第一章 简介.md", "a b+c.md", "100%.md", "50% off.md", "q#1.md", "dots/a..b..md", "tilde~'quote'!().md", "caf\u00e9.md", "cafe\u0301.md", "same/x.md", "other/x.md",
	} {
		out[name] = fmt.Appendf(nil, "# Page %d\n\n第%d页的内容。 Text of page %d.\n", i, i, i)
	}
	return out
}

// TestSources runs one job over copies of one corpus in every kind of system, through additions, edits and deletions: the same
// documents give the same chunks, and what did not change is not read.
func TestSources(t *testing.T) {
	corpus := corpusOf(t)
	want := map[string][]string{} // the records after each step, of fs
	for _, kind := range []string{"fs", "s3", "gcs", "azblob", "http", "git"} {
		t.Run(kind, func(t *testing.T) {
			p := stores()[kind](t)
			r := newRig(t, t.TempDir(), "")
			r.yaml = strings.Replace(r.yaml, fmt.Sprintf("fs: { root: %q }", r.docs), p.source, 1)
			check := func(step string) {
				t.Helper()
				got := withoutIdentity(t, r.export())
				if want[step] == nil && kind == "fs" {
					want[step] = got
				}
				if diff := firstDifference(got, want[step]); diff != "" {
					t.Fatalf("%s: %d records, %d over fs: %.2000s", step, len(got), len(want[step]), diff)
				}
			}
			for name, content := range corpus {
				p.put(t, name, content)
			}
			p.done(t)
			if res := r.sync(); res.Documents.Added+res.Documents.Skipped != len(corpus) {
				t.Fatalf("%d documents, %+v; missing %q", len(corpus), res, missing(corpus, r.export()))
			}
			check("first")
			if res := r.sync(); res.Documents.Unchanged+res.Documents.Skipped != len(corpus) || res.BytesRead != 0 || res.Chunks.Upserted != 0 {
				t.Fatalf("unchanged: %+v", res)
			}
			p.put(t, "a b+c.md", []byte("# Page\n\nEdited. 改了。\n"))
			p.put(t, "new/新.md", []byte("# New\n\nAdded.\n"))
			p.remove(t, "100%.md")
			p.remove(t, "same/x.md")
			p.done(t)
			if res := r.sync(); res.Documents.Updated != 1 || res.Documents.Added != 1 || res.Documents.Deleted != 2 {
				t.Fatalf("changed: %+v", res)
			}
			check("changed")
			if res := r.sync(); res.BytesRead != 0 || res.Documents.Deleted+res.Documents.Updated+res.Documents.Added != 0 {
				t.Fatalf("unchanged again: %+v", res)
			}
		})
	}
}

// missing are the documents of a corpus without a chunk.
func missing(corpus map[string][]byte, records []connector.Record) []string {
	have := map[string]bool{}
	for i := range records {
		have[records[i].Path] = true
	}
	var out []string
	for name := range corpus {
		if !have[name] {
			out = append(out, name)
		}
	}
	return out
}

// withoutIdentity are records without what says where they came from.
func withoutIdentity(t *testing.T, records []connector.Record) []string {
	t.Helper()
	var out []string
	for i := range records {
		for _, key := range []string{"uri", "modified_at", "repository", "ref"} {
			delete(records[i].Metadata, key)
		}
		b, err := json.Marshal(records[i])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	slices.Sort(out)
	return out
}

// TestRepository: a renamed file is a move, a checkout that touches every file is nothing, over a repository and over its working tree.
func TestRepository(t *testing.T) {
	for _, kind := range []string{"git", "fs"} {
		t.Run(kind, func(t *testing.T) {
			p := gitPlace(t)
			dir, err := strconv.Unquote(strings.TrimSuffix(strings.TrimPrefix(p.source, "git: { url: "), " }"))
			if err != nil {
				t.Fatal(err)
			}
			if kind == "fs" {
				p.source = fmt.Sprintf("fs: { root: %q }", dir)
			}
			r := newRig(t, dir, "")
			r.yaml = strings.Replace(r.yaml, fmt.Sprintf("fs: { root: %q }", dir), p.source, 1)
			for i := range 12 {
				p.put(t, fmt.Sprintf("docs/%d.md", i), fmt.Appendf(nil, "# Page %d\n\n%s", i, paragraphs(fmt.Sprint("page ", i), 3)))
			}
			p.done(t)
			r.settle()
			r.sync()
			embedded := r.embeds.Load()
			for i := range 12 { // as a checkout does
				name := filepath.Join(dir, "docs", fmt.Sprintf("%d.md", i))
				if err := os.Chtimes(name, time.Now(), time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			if res := r.sync(); res.Documents.Unchanged != 12 || res.Chunks.Upserted+res.Chunks.Repositioned != 0 || kind == "git" && res.BytesRead != 0 {
				t.Fatalf("touched: %+v", res)
			}
			if err := os.Rename(filepath.Join(dir, "docs", "3.md"), filepath.Join(dir, "docs", "three.md")); err != nil {
				t.Fatal(err)
			}
			p.done(t)
			if res := r.sync(); res.Documents.Moved != 1 || res.Documents.Added != 0 || res.Documents.Deleted != 0 {
				t.Fatalf("renamed: %+v", res)
			}
			if n := r.embeds.Load(); n != embedded {
				t.Fatalf("%d texts were embedded again", n-embedded)
			}
		})
	}
}

// s3Line is the source of a bucket behind an endpoint.
func s3Line(bucket, endpoint string) string {
	return fmt.Sprintf("s3: { bucket: %s, endpoint: %q, access_key: %s, secret_key: %s }", bucket, endpoint, objectstest.S3AccessKey, objectstest.S3SecretKey)
}

// bucketRig is a rig over a bucket.
func bucketRig(t *testing.T, bucket, endpoint, extra string) *rig {
	t.Helper()
	r := newRig(t, t.TempDir(), extra)
	r.yaml = strings.Replace(r.yaml, fmt.Sprintf("fs: { root: %q }", r.docs), s3Line(bucket, endpoint), 1)
	return r
}

// TestTwoBucketsWithTheSameKey: sources keep their documents apart, and one that goes takes its own alone.
func TestTwoBucketsWithTheSameKey(t *testing.T) {
	server := servers.Start(t, "versitygw")
	one, two := objectstest.NewS3Bucket(t, server.Addr, "one"), objectstest.NewS3Bucket(t, server.Addr, "two")
	one.Put(t, "readme.md", []byte("# One\n\nOf the first bucket.\n"))
	two.Put(t, "readme.md", []byte("# Two\n\nOf the second bucket.\n"))
	r := newRig(t, t.TempDir(), "")
	r.yaml = strings.Replace(r.yaml, fmt.Sprintf("{ name: docs, fs: { root: %q } }", r.docs),
		fmt.Sprintf("{ name: one, %s }, { name: two, %s }", s3Line("one", "http://"+server.Addr), s3Line("two", "http://"+server.Addr)), 1)
	if res := r.sync(); res.Documents.Added != 2 {
		t.Fatalf("%+v", res)
	}
	one.Delete(t, "readme.md")
	one.Put(t, "other.md", []byte("# Other\n"))
	r.sync()
	var got []string
	for _, rec := range r.export() {
		got = append(got, rec.Source+" "+rec.Path)
	}
	slices.Sort(got)
	if want := []string{"one other.md", "two readme.md"}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
}

// TestBucketFaults runs a sync against a real store whose connection is spoilt: whatever happens, nothing is deleted on the strength of
// a listing that broke, and the next run goes on.
func TestBucketFaults(t *testing.T) {
	const n = 2500
	proxy := objectstest.StartProxy(t, servers.Start(t, "versitygw").Addr)
	bucket := objectstest.NewS3Bucket(t, strings.TrimPrefix(proxy.URL, "http://"), "faults")
	key := func(i int) string { return fmt.Sprintf("d/%04d.txt", i) }
	bucket.Fill(t, n, func(i int) (string, []byte) { return key(i), fmt.Appendf(nil, "Note %d.\n", i) })
	r := bucketRig(t, "faults", proxy.URL, "sync: { retries: 2 }")
	r.sync()
	laterPage := func(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "continuation-token") }
	reading := func(r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, "/faults/d/") && r.Method == http.MethodGet
	}
	expired := objectstest.Answer(http.StatusForbidden, "application/xml",
		`<?xml version="1.0"?><Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>`)
	edit := func(from, to int, text string) {
		for i := from; i < to; i++ {
			bucket.Put(t, key(i), fmt.Appendf(nil, "%s %d.\n", text, i))
		}
	}
	refused := func(t *testing.T, what string) pipeline.Result {
		t.Helper()
		res, err := r.trySync(pipeline.SyncOptions{})
		if pipeline.ExitCode(err) != pipeline.ExitUnreachable || res.Documents.Deleted != 0 || res.Documents.Failed != 0 || !strings.Contains(err.Error(), what) {
			t.Fatalf("exit %d, %v: %+v", pipeline.ExitCode(err), err, res)
		}
		if strings.Contains(err.Error(), objectstest.S3SecretKey) {
			t.Fatalf("a secret is printed: %v", err)
		}
		return res
	}
	t.Run("pages that break once", func(t *testing.T) {
		bucket.Delete(t, key(2400))
		proxy.Set(objectstest.When(laterPage, 1, objectstest.HangUp))
		if res := r.sync(); res.Documents.Deleted != 1 || res.Documents.Unchanged != n-1 {
			t.Fatalf("%+v", res)
		}
		proxy.Set(nil)
	})
	t.Run("a listing cut half-way", func(t *testing.T) {
		bucket.Delete(t, key(2401))
		edit(0, 1, "Edited")
		proxy.Set(objectstest.When(laterPage, 1000, objectstest.Answer(http.StatusServiceUnavailable, "text/plain", "slow down")))
		if res := refused(t, "gave up after 3 tries"); res.Documents.Updated != 1 {
			t.Fatalf("%+v", res)
		}
		proxy.Set(nil)
		if res := r.sync(); res.Documents.Deleted != 1 || res.Documents.Unchanged != n-2 {
			t.Fatalf("%+v", res)
		}
	})
	t.Run("a page that is no listing", func(t *testing.T) {
		proxy.Set(objectstest.When(laterPage, 1000, objectstest.Answer(http.StatusOK, "text/html", "<html>Welcome to the hotel's network</html>")))
		refused(t, "")
		proxy.Set(nil)
		r.sync()
	})
	t.Run("credentials that expire while it lists", func(t *testing.T) {
		proxy.Set(objectstest.When(laterPage, 1000, expired))
		refused(t, "credentials")
		proxy.Set(nil)
		r.sync()
	})
	t.Run("credentials that expire while it reads", func(t *testing.T) {
		edit(100, 140, "Second")
		var mu sync.Mutex
		reads := 0
		proxy.Set(func(w http.ResponseWriter, q *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			if reading(q) {
				reads++
			}
			return reads > 15 && expired(w, q)
		})
		res := refused(t, "expired")
		done := res.Documents.Updated
		proxy.Set(nil)
		if next := r.sync(); done < 10 || next.Documents.Updated != 40-done {
			t.Fatalf("%d were done, then %+v", done, next)
		}
	})
	t.Run("an object overwritten after the listing", func(t *testing.T) {
		edit(200, 201, "Listed")
		once := sync.OnceFunc(func() { edit(200, 201, "Overwritten") })
		proxy.Set(func(_ http.ResponseWriter, q *http.Request) bool {
			if reading(q) {
				once()
			}
			return false
		})
		if res := r.sync(); res.Documents.Updated != 1 {
			t.Fatalf("%+v", res)
		}
		proxy.Set(nil)
		if res := r.sync(); res.BytesRead != 0 {
			t.Fatalf("what was read was not stored under its version: %+v", res)
		}
		for _, rec := range r.export() {
			if rec.Path == key(200) && !strings.HasPrefix(rec.Content, "Overwritten") {
				t.Fatal(rec.Content)
			}
		}
	})
	r.exact()
}

// manyObjects is how many objects the bucket of TestManyObjects holds.
const manyObjects = 100_000

// TestManyObjects: an unchanged sync of a large bucket costs the calls of the listing and nothing else, in flat memory; and one that is
// cut half-way deletes nothing, and goes on.
func TestManyObjects(t *testing.T) {
	if testing.Short() {
		t.Log("short: a bucket of 2,500 objects")
	}
	n := manyObjects
	if testing.Short() {
		n = 2500
	}
	server := servers.Start(t, "versitygw")
	bucket := objectstest.NewS3Bucket(t, server.Addr, "many")
	bucket.Plant(t, server, n, func(i int) (string, []byte) {
		return fmt.Sprintf("%03d/%06d.txt", i/1000, i), fmt.Appendf(nil, "Note %d. 第%d条记录。\n", i, i)
	})
	r := bucketRig(t, "many", "http://"+server.Addr, "sink: { sqlite: { path: ./kb.sqlite } }\nembedder: { lexical: { dimensions: 16 } }")
	first := r.plainChild()
	if first.res.Documents.Added != n {
		t.Fatalf("%+v", first.res)
	}
	proxy := objectstest.StartProxy(t, server.Addr)
	r.yaml = strings.Replace(r.yaml, "http://"+server.Addr, proxy.URL, 1) // the bucket moved: no document did
	second := r.plainChild()
	if second.res.Documents.Unchanged != n || second.res.BytesRead != 0 {
		t.Fatalf("%+v", second.res)
	}
	lists, others := 0, 0
	for _, c := range proxy.Calls() {
		if c.Method == http.MethodGet && strings.Contains(c.Query, "list-type=2") {
			lists++
		} else {
			others++
			t.Logf("another call: %s %s?%s", c.Method, c.Path, c.Query)
		}
	}
	if want := (n + 999) / 1000; lists > want+1 || others > 0 {
		t.Errorf("%d calls that list, want %d; %d others, want 0", lists, want, others)
	}
	t.Logf("first sync of %d objects: %v, %d MB; unchanged: %v wall, %v CPU, %d MB, %d calls", n, first.wall, first.rss>>20, second.wall, second.cpu, second.rss>>20, lists)
	if second.rss > 512<<20 {
		t.Errorf("an unchanged sync takes %d MB", second.rss>>20)
	}
}
