package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/kbsync/kbsync/connector"
	"golang.org/x/sync/errgroup"
)

// Bounds of one call to a sink that names none.
const (
	defaultSinkItems = 1000
	deleteItems      = 1000
)

// item is a point on its way into the sink, with the document it belongs to.
type item struct {
	point connector.Point
	write *write
	doc   *docWrite
}

func sortUUIDs(ids []connector.UUID) {
	slices.SortFunc(ids, func(a, b connector.UUID) int { return bytes.Compare(a[:], b[:]) })
}

// groups splits items by the sink's limits.
func (w *writer) groups(items []item) [][]item {
	maxItems := w.caps.MaxBatchItems
	if maxItems <= 0 {
		maxItems = defaultSinkItems
	}
	var out [][]item
	start, size := 0, 0
	for i := range items {
		n := pointBytes(&items[i].point)
		if i > start && (i-start >= maxItems || w.caps.MaxBatchBytes > 0 && size+n > w.caps.MaxBatchBytes) {
			out = append(out, items[start:i])
			start, size = i, 0
		}
		size += n
	}
	if start < len(items) {
		out = append(out, items[start:])
	}
	return out
}

// pointBytes estimates the size of a point in a request, from above for usual metadata.
func pointBytes(p *connector.Point) int {
	return len(p.Content) + len(p.Context) + len(p.EmbedText) + 4*len(p.Vector) + 64*len(p.Metadata) + 32*len(p.Spans) + 512
}

// upsert stores points. What the sink refuses fails its document; the error returned ends the run.
func (w *writer) upsert(ctx context.Context, items []item) error {
	return w.inGroups(ctx, items, "write to the sink", func(group []item) error {
		points := make([]connector.Point, len(group))
		for i := range group {
			points[i] = group[i].point
		}
		return w.coll.Upsert(ctx, points)
	})
}

// move updates payloads. Points that turn out to be missing are written whole.
func (w *writer) move(ctx context.Context, items []item) error {
	var missing []item
	var mu sync.Mutex
	err := w.inGroups(ctx, items, "update payloads in the sink", func(group []item) error {
		records := make([]connector.Record, len(group))
		for i := range group {
			records[i] = group[i].point.Record
		}
		err := w.coll.UpdatePayload(ctx, records)
		var be *connector.BatchError
		if !errors.As(err, &be) {
			return err
		}
		for _, i := range be.Indexes() {
			if connector.ClassOf(be.Items[i]) == connector.ClassNotFound {
				mu.Lock()
				missing = append(missing, group[i])
				mu.Unlock()
				delete(be.Items, i)
			}
		}
		if len(be.Items) == 0 {
			return nil
		}
		return be
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	return w.restore(ctx, missing)
}

// restore writes points whole that the ledger took for stored: somebody removed them behind our back.
func (w *writer) restore(ctx context.Context, items []item) error {
	wants := make([]*want, len(items))
	for i := range items {
		x := items[i].write
		wants[i] = &want{hash: x.want.hash, content: x.want.content, text: x.want.text, tokens: x.want.tokens, plain: x.noVec, group: x.want.group, place: x.want.place}
	}
	if err := w.vectors(ctx, wants); err != nil {
		return err
	}
	var good []item
	for i := range items {
		if wants[i].err != nil {
			items[i].doc.fail("embed", wants[i].err)
			continue
		}
		items[i].point.Vector = wants[i].vector
		good = append(good, items[i])
	}
	return w.upsert(ctx, good)
}

// inGroups runs call on groups of items, several at a time where the sink says so.
func (w *writer) inGroups(ctx context.Context, items []item, what string, call func([]item) error) error {
	groups := w.groups(items)
	if len(groups) == 0 {
		return nil
	}
	if err := w.stamp.renew(ctx); err != nil {
		return err
	}
	if len(groups) <= 1 || w.caps.Concurrency <= 1 {
		for _, group := range groups {
			if err := w.isolate(ctx, group, what, call, 0); err != nil {
				return err
			}
		}
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(w.caps.Concurrency)
	for _, group := range groups {
		g.Go(func() error { return w.isolate(ctx, group, what, call, 0) })
	}
	return g.Wait()
}

// isolate makes one call. A batch that is refused as invalid or too large is halved until the item at fault stands alone; items that
// the sink names are tried again if their fault may pass, and fail their document if not.
func (w *writer) isolate(ctx context.Context, group []item, what string, call func([]item) error, tries int) error {
	err := w.p.retry(ctx, what, func() error { return call(group) })
	if err == nil {
		return nil
	}
	var be *connector.BatchError
	if errors.As(err, &be) {
		var again []item
		for _, i := range be.Indexes() {
			if i < 0 || i >= len(group) {
				return fmt.Errorf("%s: the sink named item %d of %d: %w", what, i, len(group), err)
			}
			if passing(be.Items[i]) && tries < w.p.file.Sync.Retries {
				again = append(again, group[i])
				continue
			}
			w.reject(&group[i], be.Items[i])
		}
		if len(again) == 0 {
			return nil
		}
		if err := w.p.pause(ctx, tries); err != nil {
			return err
		}
		return w.isolate(ctx, again, what, call, tries+1)
	}
	class := connector.ClassOf(err)
	if class != connector.ClassInvalid && class != connector.ClassTooLarge {
		return err
	}
	if len(group) == 1 {
		w.reject(&group[0], err)
		return nil
	}
	half := len(group) / 2
	if err := w.isolate(ctx, group[:half], what, call, tries); err != nil {
		return err
	}
	return w.isolate(ctx, group[half:], what, call, tries)
}

// reject sets one item aside: its document fails, by name, and the rest goes on.
func (w *writer) reject(it *item, err error) {
	it.doc.fail("sink", fmt.Errorf("chunk %d (%s): %w", it.write.index, it.write.record.ChunkID, err))
}

// delete removes ids from the sink.
func (w *writer) delete(ctx context.Context, ids []connector.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	if err := w.stamp.renew(ctx); err != nil {
		return err
	}
	for group := range slices.Chunk(ids, deleteItems) {
		names := make([]string, len(group))
		for i, id := range group {
			names[i] = id.String()
		}
		if err := w.p.retry(ctx, "delete from the sink", func() error { return w.coll.Delete(ctx, names) }); err != nil {
			return err
		}
	}
	return nil
}
