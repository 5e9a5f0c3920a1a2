package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// wholeHistory is the depth with which git asks for the rest of a shallow history.
const wholeHistory = 1<<31 - 1

// request is what a fetch asks for.
type request struct {
	wants []plumbing.Hash
	depth int
	haves map[plumbing.Hash]bool
}

// download stores the pack that the server makes of a request. Documents of earlier listings go on being read while it
// writes, so it has a storage of its own.
func download(ctx context.Context, conn session, st *store, adv *packp.AdvRefs, what request) (err error) {
	if len(what.wants) == 0 {
		return nil
	}
	storage := filesystem.NewStorageWithOptions(st.fs, newCache(), storageOptions(false))
	defer func() { err = errors.Join(err, storage.ObjectStorage.Close()) }()
	known, err := storage.Shallow()
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	req, err := what.encode(adv, known)
	if err != nil {
		return err
	}
	resp, err := conn.UploadPack(ctx, req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Close()) }()
	pack := demultiplex(req.Capabilities, resp)
	if len(req.Haves) == 0 {
		err = packfile.UpdateObjectStorage(storage, pack)
	} else {
		err = storeThin(storage, pack)
	}
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	shallows := slices.DeleteFunc(append(known, resp.Shallows...), func(h plumbing.Hash) bool { return slices.Contains(resp.Unshallows, h) })
	slices.SortFunc(shallows, func(a, b plumbing.Hash) int { return slices.Compare(a[:], b[:]) })
	if err := storage.SetShallow(slices.Compact(shallows)); err != nil {
		return err
	}
	return st.refresh()
}

func (what request) encode(adv *packp.AdvRefs, known []plumbing.Hash) (*packp.UploadPackRequest, error) {
	req := packp.NewUploadPackRequestFromCapabilities(adv.Capabilities)
	req.Wants = what.wants
	for h := range what.haves {
		req.Haves = append(req.Haves, h)
	}
	var asked []capability.Capability
	if adv.Capabilities.Supports(capability.NoProgress) {
		asked = append(asked, capability.NoProgress)
	}
	if len(req.Haves) > 0 {
		// Without it a server compares nothing with a shallow history and sends everything again. go-git has
		// taken it off the list of what the server offers; each does.
		asked = append(asked, capability.ThinPack)
	}
	if what.depth > 0 || len(known) > 0 {
		asked = append(asked, capability.Shallow)
		req.Shallows = known
		req.Depth = packp.DepthCommits(what.depth)
		if what.depth == 0 {
			req.Depth = packp.DepthCommits(wholeHistory)
		}
	}
	for _, c := range asked {
		if err := req.Capabilities.Set(c); err != nil {
			return nil, err
		}
	}
	return req, nil
}

func demultiplex(caps *capability.List, r io.Reader) io.Reader {
	switch {
	case caps.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, r)
	case caps.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, r)
	}
	return r
}

// plainStorer hides that the storage can write lazily: go-git's parser would keep a file open for each object.
type plainStorer struct{ storer.EncodedObjectStorer }

// storeThin stores a pack whose deltas are of objects that are in the storage and not in the pack: each object by itself, and then
// all of them as a pack of its own.
func storeThin(storage *filesystem.Storage, pack io.Reader) (err error) {
	f, err := os.CreateTemp(filepath.Join(storage.Filesystem().Root(), "objects", "pack"), "tmp_pack_")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := io.Copy(f, pack); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	parser, err := packfile.NewParserWithStorage(packfile.NewScanner(f), plainStorer{storage})
	if err != nil {
		return err
	}
	if _, err := parser.Parse(); err != nil {
		return err
	}
	return packLoose(storage)
}

// packLoose makes one pack of the objects that have a file each.
func packLoose(storage *filesystem.Storage) error {
	var loose []plumbing.Hash
	if err := storage.ForEachObjectHash(func(h plumbing.Hash) error {
		loose = append(loose, h)
		return nil
	}); err != nil || len(loose) == 0 {
		return err
	}
	w, err := storage.PackfileWriter()
	if err != nil {
		return err
	}
	_, err = packfile.NewEncoder(w, storage, false).Encode(loose, 0)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	for _, h := range loose {
		if err := storage.DeleteLooseObject(h); err != nil {
			return err
		}
	}
	return nil
}
