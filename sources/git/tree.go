package git

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// The modes of tree entries, as git writes them.
const (
	modeKind    = 0o170000
	modeTree    = 0o040000
	modeFile    = 0o100000
	modeSymlink = 0o120000
	modeGitlink = 0o160000

	emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

	maxTree  = 64 << 20  // bytes of one tree object
	maxTrees = 256 << 20 // bytes of all trees from the root to the one that is listed
)

// tree is a tree object as it stands, with where its entries begin, sorted by name: git sorts folders as if their names
// ended in a slash.
type tree struct {
	raw   []byte
	order []uint32
}

// entry is one line of a tree.
type entry struct {
	mode uint32
	name []byte
	hash plumbing.Hash
}

var errTree = errors.New("the tree object is malformed")

func parseTree(raw []byte) (tree, error) {
	t := tree{raw: raw}
	for at := 0; at < len(raw); {
		_, size := t.parse(uint32(at))
		if size == 0 {
			return tree{}, errTree
		}
		t.order = append(t.order, uint32(at))
		at += size
	}
	slices.SortFunc(t.order, func(a, b uint32) int {
		x, _ := t.parse(a)
		y, _ := t.parse(b)
		return cmp.Or(bytes.Compare(x.name, y.name), cmp.Compare(a, b))
	})
	return t, nil
}

// parse reads the entry at an offset; size is 0 if there is none.
func (t tree) parse(at uint32) (e entry, size int) {
	raw := t.raw[at:]
	i := 0
	for ; i < len(raw) && raw[i] >= '0' && raw[i] <= '7' && i < 7; i++ {
		e.mode = e.mode<<3 | uint32(raw[i]-'0')
	}
	if i == 0 || i == len(raw) || raw[i] != ' ' {
		return e, 0
	}
	name, rest, ok := bytes.Cut(raw[i+1:], []byte{0})
	if !ok || len(rest) < len(e.hash) {
		return e, 0
	}
	e.name = name
	copy(e.hash[:], rest)
	return e, i + 1 + len(name) + 1 + len(e.hash)
}

func (t tree) entry(i int) entry {
	e, _ := t.parse(t.order[i])
	return e
}

// tree reads a tree object of at most limit bytes.
func (s *store) tree(h plumbing.Hash, limit int64) (tree, error) {
	if h == plumbing.NewHash(emptyTree) {
		return tree{}, nil // git knows it without having it
	}
	raw, err := s.read(plumbing.TreeObject, h, limit)
	if err != nil {
		return tree{}, err
	}
	return parseTree(raw)
}

// subtree finds a folder by name.
func (s *store) subtree(h plumbing.Hash, name string) (plumbing.Hash, error) {
	t, err := s.tree(h, maxTree)
	if err != nil {
		return h, err
	}
	found, ok := plumbing.ZeroHash, false
	for i := range t.order {
		e := t.entry(i)
		if string(e.name) != name {
			continue
		}
		if ok || e.mode&modeKind != modeTree {
			return h, errNoFolder
		}
		found, ok = e.hash, true
	}
	if !ok {
		return h, errNoFolder
	}
	return found, nil
}
