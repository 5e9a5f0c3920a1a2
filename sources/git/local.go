package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/kbsync/kbsync/connector"
)

// openLocal opens the repository in place. It is looked up at each listing, since another may have taken its place.
func (s *Source) openLocal() (*store, error) {
	gitDir, common, err := findGitDir(s.address.path)
	if err != nil {
		return nil, s.localError(err)
	}
	id, err := os.Stat(filepath.Join(common, "objects"))
	if err != nil {
		return nil, s.localError(err)
	}
	if s.local != nil {
		if os.SameFile(id, s.localID) {
			return s.local, nil
		}
		s.older = append(s.older, s.local)
		s.local = nil
	}
	files := osfs.New(gitDir)
	if common != gitDir {
		files = dotgit.NewRepositoryFilesystem(osfs.New(gitDir), osfs.New(common))
	}
	st, err := newStore(files, filepath.Join(common, "objects"), false)
	if err != nil {
		return nil, s.localError(err)
	}
	s.local, s.localID = st, id
	return st, nil
}

func (s *Source) localError(err error) error {
	class := connector.ClassUnknown
	switch {
	case errors.Is(err, fs.ErrPermission):
		class = connector.ClassDenied
	case errors.Is(err, fs.ErrNotExist):
		class, err = connector.ClassNotFound, errors.New("there is no git repository; is url relative to the configuration file?")
	}
	return connector.Errorf(class, "git: url %s: %w", s.address.display, err)
}

// findGitDir finds the folder that git calls $GIT_DIR, and the one that it shares with the other working trees.
func findGitDir(root string) (gitDir, common string, err error) {
	gitDir = filepath.Join(root, ".git")
	switch info, err := os.Stat(gitDir); {
	case errors.Is(err, fs.ErrNotExist):
		gitDir = root // bare
	case err != nil:
		return "", "", err
	case !info.IsDir():
		if gitDir, err = readLink(gitDir, "gitdir: ", root); err != nil {
			return "", "", err
		}
	}
	common, err = readLink(filepath.Join(gitDir, "commondir"), "", gitDir)
	if errors.Is(err, fs.ErrNotExist) {
		common, err = gitDir, nil
	}
	if err != nil {
		return "", "", err
	}
	for _, name := range []string{filepath.Join(gitDir, "HEAD"), filepath.Join(common, "objects"), filepath.Join(common, "refs")} {
		if _, err := os.Stat(name); err != nil {
			return "", "", err
		}
	}
	return gitDir, common, nil
}

// readLink reads a file that holds the name of a folder.
func readLink(file, prefix, relativeTo string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	if !ok || target == "" {
		return "", fmt.Errorf("%s holds no name of a folder", file)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(relativeTo, target)
	}
	return target, nil
}

// localCommit finds the commit of the ref.
func (s *Source) localCommit(st *store) (plumbing.Hash, error) {
	refs := filesystem.NewStorage(st.fs, newCache())
	config, err := refs.Config()
	if err != nil {
		return plumbing.ZeroHash, connector.Errorf(connector.ClassUnknown, "git: %s: config: %w", s.address.display, err)
	}
	extensions := config.Raw.Section("extensions")
	if f := extensions.Option("objectformat"); f != "" && f != "sha1" {
		return plumbing.ZeroHash, connector.Errorf(connector.ClassUnsupported, "git: %s: object format %s is not supported", s.address.display, f)
	}
	if f := extensions.Option("refstorage"); f != "" && f != "files" {
		return plumbing.ZeroHash, connector.Errorf(connector.ClassUnsupported, "git: %s: ref storage %s is not supported", s.address.display, f)
	}
	if plumbing.IsHash(s.config.Ref) {
		return s.localPeel(st, plumbing.NewHash(s.config.Ref))
	}
	for _, name := range refNames(s.config.Ref) {
		ref, err := storer.ResolveReference(refs, plumbing.ReferenceName(name))
		if err == nil {
			return s.localPeel(st, ref.Hash())
		}
		if !errors.Is(err, plumbing.ErrReferenceNotFound) {
			return plumbing.ZeroHash, connector.Errorf(connector.ClassUnknown, "git: %s: ref %s: %w", s.address.display, name, err)
		}
	}
	var known []string
	list, err := refs.IterReferences()
	if err == nil {
		err = list.ForEach(func(r *plumbing.Reference) error {
			known = append(known, r.Name().String())
			return nil
		})
	}
	if err != nil {
		return plumbing.ZeroHash, connector.Errorf(connector.ClassUnknown, "git: %s: refs: %w", s.address.display, err)
	}
	return plumbing.ZeroHash, s.refMissing(known)
}

func (s *Source) localPeel(st *store, h plumbing.Hash) (plumbing.Hash, error) {
	commit, err := st.peel(h)
	if errors.Is(err, errMissing) && plumbing.IsHash(s.config.Ref) {
		return h, connector.Errorf(connector.ClassNotFound, "git: there is no commit %s in %s", s.config.Ref, s.address.display)
	}
	if err != nil {
		return h, s.objectError(st, "ref "+s.refName(), err)
	}
	return commit, nil
}
