package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/pipeline"
	"github.com/kbsync/kbsync/sources/fs"
)

// looseSource names the source of files that no configured source holds.
const looseSource = "fs"

// found is a document that the command line names.
type found struct {
	source string
	caps   connector.SourceCapabilities
	doc    connector.Document
	named  bool // the file itself is an argument, not a folder that holds it
}

// rooted is a configured source of files.
type rooted struct {
	name string
	root string // absolute, links resolved
	src  connector.Source
}

// paths finds the documents that arguments name, by the same walk as a sync.
type paths struct {
	a       *app
	v       *pipeline.Preview
	sources []rooted
	base    string // what loose documents' paths are relative to
	seen    map[string]bool
	loose   []connector.Source
	failed  int
}

// newPaths opens the configured sources of files. Paths of loose files are relative to the folder that holds all arguments.
func newPaths(ctx context.Context, a *app, v *pipeline.Preview, file *config.File, args []string) (*paths, error) {
	w := &paths{a: a, v: v, seen: map[string]bool{}}
	for _, arg := range args {
		arg, _ = splitMember(arg)
		_, info, err := resolve(arg)
		if err != nil {
			return nil, err
		}
		abs, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			abs = filepath.Dir(abs)
		}
		w.base = common(w.base, abs)
	}
	for _, conf := range file.Sources {
		c, ok := conf.Config.(*fs.Config)
		if !ok {
			continue
		}
		root := c.Root
		if !filepath.IsAbs(root) {
			root = filepath.Join(file.Dir, root)
		}
		real, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue // what is not there holds none of the arguments
		}
		src, err := v.Source(ctx, conf)
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		w.sources = append(w.sources, rooted{conf.Name, real, src})
	}
	return w, nil
}

// resolve looks a path up and follows its links.
func resolve(arg string) (real string, info os.FileInfo, err error) {
	if real, err = filepath.EvalSymlinks(arg); err == nil {
		if real, err = filepath.Abs(real); err == nil {
			info, err = os.Stat(real)
		}
	}
	if pe := (*os.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	if err != nil {
		return "", nil, usagef("%s: %w", arg, err)
	}
	return real, info, nil
}

// common is the deepest folder that holds both.
func common(a, b string) string {
	if a == "" {
		return b
	}
	for !inside(b, a) {
		up := filepath.Dir(a)
		if up == a {
			return a
		}
		a = up
	}
	return a
}

// inside says whether path is dir or lies below it.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Close closes the sources; the documents can no longer be opened.
func (w *paths) Close() error {
	var errs []error
	for _, s := range w.sources {
		errs = append(errs, s.src.Close())
	}
	for _, s := range w.loose {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// each calls do for every document at or below arg, each once over all calls.
func (w *paths) each(ctx context.Context, arg string, do func(found) error) error {
	arg, member := splitMember(arg)
	real, info, err := resolve(arg)
	if err != nil {
		return err
	}
	n, owned := 0, ""
	count := func(f found) error {
		n++
		f.named = !info.IsDir()
		return w.unpack(ctx, f, member, do)
	}
	for _, s := range w.sources {
		switch {
		case inside(real, s.root):
			owned = s.name
		case !inside(s.root, real):
			continue
		}
		if err := w.fromSource(ctx, s, real, count); err != nil {
			return err
		}
	}
	switch {
	case owned != "":
	case info.IsDir():
		err = w.fromFolder(ctx, arg, real, count)
	default:
		err = w.fromFile(ctx, arg, real, count)
	}
	switch {
	case err != nil || n > 0 || w.failed > 0:
		return err
	case owned != "" && !info.IsDir():
		return usagef("%s: source %s leaves this file out (include, exclude, ignore files, max_size): run without -c to cut it alone", arg, owned)
	case !info.IsDir() && !info.Mode().IsRegular():
		return usagef("%s: not a regular file", arg)
	}
	w.a.remark("%s: no documents here", arg)
	return nil
}

// splitMember takes the path of a member ("a.zip/docs/one.md") apart: the file, and the path in it. Any other path stays whole.
func splitMember(arg string) (file, member string) {
	if _, err := os.Stat(arg); err == nil {
		return arg, ""
	}
	clean := filepath.Clean(arg)
	for up := filepath.Dir(clean); up != filepath.Dir(up); up = filepath.Dir(up) {
		info, err := os.Stat(up)
		if err == nil && info.Mode().IsRegular() {
			return up, filepath.ToSlash(strings.TrimPrefix(clean[len(up):], string(filepath.Separator)))
		}
		if err == nil {
			break
		}
	}
	return arg, ""
}

// unpack calls do for a document and for what it holds; for a member alone, and what that holds, if one is named.
func (w *paths) unpack(ctx context.Context, f found, member string, do func(found) error) error {
	at, matched := f.doc.Path+"/"+member, false
	err := w.v.Unpack(ctx, f.source, f.caps, f.doc, func(doc connector.Document, skip string) error {
		if member != "" && doc.Path != at && !strings.HasPrefix(doc.Path, at+"/") {
			return nil
		}
		matched = true
		if skip != "" {
			w.a.remark("skipped: %s: %s", doc.Path, skip)
			return nil
		}
		return do(found{source: f.source, caps: f.caps, doc: doc, named: f.named && (doc.Path == f.doc.Path || doc.Path == at)})
	})
	if err == nil && !matched && member != "" {
		return usagef("%s holds no %s", f.doc.Path, member)
	}
	return err
}

// fromSource lists the part of a configured source that lies at or below real.
func (w *paths) fromSource(ctx context.Context, s rooted, real string, do func(found) error) error {
	return w.list(ctx, s.src, func(doc connector.Document) (bool, error) {
		at := filepath.Join(s.root, filepath.FromSlash(doc.Path))
		if !inside(at, real) || !w.first(at) {
			return true, nil
		}
		return at != real, do(found{source: s.name, caps: s.src.Capabilities(), doc: doc})
	}, func(path string) bool { return inside(filepath.Join(s.root, filepath.FromSlash(path)), real) })
}

// fromFolder walks a folder that belongs to no configured source.
func (w *paths) fromFolder(ctx context.Context, arg, real string, do func(found) error) error {
	conf, err := w.fsConfig()
	if err != nil {
		return err
	}
	return w.walk(ctx, conf, arg, real, do, nil)
}

// fromFile takes one file that is named, also where a walk would leave it out.
func (w *paths) fromFile(ctx context.Context, arg, real string, do func(found) error) error {
	conf, err := w.fsConfig()
	if err != nil {
		return err
	}
	name := filepath.Base(real)
	conf.Hidden, conf.IgnoreFiles = true, nil
	if strings.ContainsAny(name, `*?[]{}\`) {
		conf.Exclude = []string{"*/*"} // a pattern cannot say the name: look at this folder alone
	} else {
		conf.Include = []string{name}
	}
	return w.walk(ctx, conf, filepath.Dir(arg), filepath.Dir(real), do, func(path string) (string, bool) { return filepath.Base(arg), path == name })
}

// fsConfig is the configuration of a walk with every default.
func (w *paths) fsConfig() (fs.Config, error) {
	plugin, _ := w.a.reg.Sources.Get("fs")
	c, ok := plugin.Config().(*fs.Config)
	if !ok {
		return fs.Config{}, errors.New("source fs is not in this build")
	}
	return *c, nil
}

// walk lists a folder. rename, if set, chooses one file and says what it is called.
func (w *paths) walk(ctx context.Context, conf fs.Config, arg, real string, do func(found) error, rename func(string) (string, bool)) error {
	conf.Root = real
	src, err := fs.Open(conf, "")
	if err != nil {
		return err
	}
	w.loose = append(w.loose, src)
	abs, err := filepath.Abs(arg)
	if err != nil {
		return err
	}
	prefix, err := filepath.Rel(w.base, abs)
	if err != nil {
		return err
	}
	return w.list(ctx, src, func(doc connector.Document) (bool, error) {
		at, name := filepath.Join(real, filepath.FromSlash(doc.Path)), doc.Path
		if rename != nil {
			var ok bool
			if name, ok = rename(doc.Path); !ok {
				return true, nil
			}
		}
		if w.owned(at) || !w.first(at) {
			return true, nil
		}
		doc.Path = filepath.ToSlash(filepath.Join(prefix, filepath.FromSlash(name)))
		return rename == nil, do(found{source: looseSource, caps: src.Capabilities(), doc: doc})
	}, func(path string) bool {
		if rename == nil {
			return true
		}
		_, ok := rename(path)
		return ok
	})
}

func (w *paths) owned(at string) bool {
	for _, s := range w.sources {
		if inside(at, s.root) {
			return true
		}
	}
	return false
}

func (w *paths) first(at string) bool {
	if w.seen[at] {
		return false
	}
	w.seen[at] = true
	return true
}

// list runs a listing; what is skipped or unreadable is named on stderr where concerns says that it matters.
func (w *paths) list(ctx context.Context, src connector.Source, do func(connector.Document) (more bool, err error), concerns func(path string) bool) error {
	for ch, err := range src.Changes(ctx) {
		var de *connector.DocError
		switch {
		case errors.As(err, &de):
			if concerns(de.Path) {
				w.failed++
				w.a.note("failed (list): %s", de.Error())
			}
			continue
		case err != nil:
			return err
		case ch.Kind == connector.ChangeSkip:
			if concerns(ch.Document.Path) {
				w.a.remark("skipped: %s: %s", ch.Document.Path, ch.Reason)
			}
			continue
		}
		if more, err := do(ch.Document); err != nil || !more {
			return err
		}
	}
	return nil
}
