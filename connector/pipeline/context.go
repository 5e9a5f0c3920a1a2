package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/ledger"
)

// contextVersion is raised when chunks are grouped otherwise: documents of contextual models are looked at again.
const contextVersion = 1

// contextKey is the metadata key under which a record of a contextual model tells the address of its vector, so that a chunk whose
// neighbours changed is another record, and a ledger that is rebuilt from a sink knows what each vector is of. Empty without a vector.
const contextKey = "context_hash"

// group is a run of a document's chunks that a contextual model embeds together.
type group struct {
	digest   ledger.Hash   // of all texts, in order
	contents []ledger.Hash // SHA-256 of each text
	texts    []string
	tokens   int
	bytes    int
	late     *lateGroup // nil: of a contextual model
}

// newGroup is a group of a contextual model, or one that is read for late chunking if how is set.
func newGroup(members []*piece, how *lateReading) *group {
	g := &group{}
	h := sha256.New()
	_, _ = h.Write([]byte("kbsync group 1\n"))
	for _, pc := range members {
		_, _ = h.Write(pc.Hash)
		g.contents = append(g.contents, ledger.Hash(pc.Hash))
		g.texts = append(g.texts, pc.embedText())
		g.tokens, g.bytes = g.tokens+pc.Tokens, g.bytes+pc.size()
	}
	if how != nil {
		g.late = newLateGroup(members, how)
		g.late.address(h)
	}
	h.Sum(g.digest[:0])
	return g
}

// address is that of the vector of the text at a place: a hash of all texts of the group, in order, and the place.
func (g *group) address(place int) ledger.Hash {
	return sha256.Sum256(binary.BigEndian.AppendUint64(g.digest[:len(g.digest):len(g.digest)], uint64(place))) //nolint:gosec // never negative
}

// groupLimits bound a group; 0 means no limit, but items always has one.
type groupLimits struct{ items, tokens, bytes int }

func limitsOf(m *connector.Model) groupLimits {
	items := m.MaxItems
	if items <= 0 {
		items = defaultEmbedItems
	}
	return groupLimits{min(items, windowSize), m.MaxTokens, m.MaxBytes}
}

// longestRun is how many pieces may wait for the end of a group, those that are only stored included.
const longestRun = 4 * windowSize

// grouper divides a document's pieces into groups. What fits into one group is one. Else a group ends, between the half of a limit and
// the whole, before the piece whose hash is the least: the same place after an edit before it, if it can still be reached, so that
// the groups behind are what they were. Where a group ends depends on nothing behind the limit: an edit leaves the groups that lie a
// group's length before it alone.
type grouper struct {
	limits  groupLimits
	late    *lateReading // nil: of a contextual model, all pieces are members
	run     []*piece     // that are not yielded yet
	members []int        // those of them that a vector is wanted of
	sum     groupLimits
}

// grouped yields the pieces with their groups and places. At most a group of them is held.
func grouped(pieces iter.Seq2[*piece, error], limits groupLimits, late *lateReading) iter.Seq2[*piece, error] {
	return func(yield func(*piece, error) bool) {
		g := &grouper{limits: limits, late: late}
		for pc, err := range pieces {
			if err != nil {
				yield(nil, err)
				return
			}
			if !g.add(pc, yield) {
				return
			}
		}
		g.flush(len(g.members), yield)
	}
}

func (l groupLimits) with(pc *piece) groupLimits {
	return groupLimits{l.items + 1, l.tokens + pc.Tokens, l.bytes + pc.size()}
}

// over says whether times as much is more than the limits.
func (l groupLimits) over(limits groupLimits, times int) bool {
	return times*l.items > limits.items || limits.tokens > 0 && times*l.tokens > limits.tokens || limits.bytes > 0 && times*l.bytes > limits.bytes
}

// add takes a piece, and yields a group that cannot take it.
func (g *grouper) add(pc *piece, yield func(*piece, error) bool) bool {
	single := pc.StoreOnly || pc.Vector != nil || g.late != nil && !pc.Late
	switch {
	case single && len(g.members) == 0:
		return yield(pc, nil)
	case len(g.run) >= longestRun:
		if !g.flush(len(g.members), yield) {
			return false
		}
		return g.add(pc, yield)
	case single:
		g.run = append(g.run, pc)
		return true
	}
	for len(g.members) > 0 && g.sum.with(pc).over(g.limits, 1) {
		if !g.flush(g.cut(pc), yield) {
			return false
		}
	}
	g.members, g.run, g.sum = append(g.members, len(g.run)), append(g.run, pc), g.sum.with(pc)
	return true
}

// cut is how many members the group keeps that has no room for next.
func (g *grouper) cut(next *piece) int {
	best, least := len(g.members), binary.BigEndian.Uint64(next.Hash)
	sum := groupLimits{}
	for k, at := range g.members {
		pc := g.run[at]
		if hash := binary.BigEndian.Uint64(pc.Hash); k > 0 && sum.over(g.limits, 2) && (hash < least || hash == least && k < best) {
			best, least = k, hash
		}
		sum = sum.with(pc)
	}
	return best
}

// flush yields the group of the first n members, with the pieces between them.
func (g *grouper) flush(n int, yield func(*piece, error) bool) bool {
	if n == 0 {
		return true
	}
	end := len(g.run)
	if n < len(g.members) {
		end = g.members[n]
	}
	members := make([]*piece, n)
	for i := range members {
		members[i] = g.run[g.members[i]]
	}
	made := newGroup(members, g.late)
	for _, pc := range g.run[:end] {
		pc.group, pc.place = made, -1 // also what stands between: a group is not torn apart
	}
	for i, pc := range members {
		pc.place = i
	}
	for _, pc := range g.run[:end] {
		if !yield(pc, nil) {
			return false
		}
	}
	rest := g.run[end:]
	g.members = g.members[n:]
	g.run, g.sum = append([]*piece(nil), rest...), groupLimits{}
	for i := range g.members {
		g.members[i] -= end
		g.sum = g.sum.with(g.run[g.members[i]])
	}
	return true
}

// inContext gives a write the address of its vector, and its record the key that tells it. Beside a contextual model only chunks that are
// read together (late) have the key.
func (x *write) inContext(pc *piece, contextual bool) {
	address := ""
	if pc.group != nil && pc.place >= 0 {
		x.want.group, x.want.place, x.want.hash = pc.group, pc.place, pc.group.address(pc.place)
		x.vector = x.want.hash
		address = hex.EncodeToString(x.vector[:])
	}
	if delete(x.record.Metadata, contextKey); contextual || address != "" { // nobody else's key
		x.record.Metadata[contextKey] = address
	}
}

// contextOf is the address that a record of a contextual model tells; ok is false where it tells none.
func contextOf(r *connector.Record) (address ledger.Hash, ok bool) {
	raw, err := hex.DecodeString(text(r.Metadata[contextKey]))
	if err != nil || len(raw) != len(address) {
		return address, false
	}
	return ledger.Hash(raw), true
}

// groupCall is a group that is to be embedded, for some of its texts at least.
type groupCall struct {
	*group
	wants []*want
}

// callsFor are the groups that give texts their vectors, each once.
func callsFor(wants []*want) []*groupCall {
	var calls []*groupCall
	by := map[ledger.Hash]*groupCall{}
	for _, x := range wants {
		c := by[x.group.digest]
		if c == nil {
			c = &groupCall{group: x.group}
			by[x.group.digest] = c
			calls = append(calls, c)
		}
		c.wants = append(c.wants, x)
	}
	return calls
}

// toEmbed counts the texts that are embedded where some lack their vectors: whole groups of those that are in one.
func (w *writer) toEmbed(missing []*want) (n, tokens int) {
	var together []*want
	for _, x := range missing {
		if x.group != nil {
			together = append(together, x)
			continue
		}
		n, tokens = n+1, tokens+x.tokens
	}
	for _, c := range callsFor(together) {
		n, tokens = n+len(c.texts), tokens+c.tokens
	}
	return n, tokens
}

// embedGroup asks for a group's vectors and stores all of them. If one text is refused there is no such group: its document fails.
func (w *writer) embedGroup(ctx, more context.Context, call *groupCall) error {
	var got [][]float32
	var err error
	if call.late != nil {
		got, err = w.readLate(ctx, more, call.late)
	} else {
		got, err = w.ask(ctx, more, call.texts, call.tokens)
	}
	var be *connector.BatchError
	switch {
	case err == nil:
	case errors.As(err, &be) || refusedText(err):
		if be == nil {
			if err := w.blame(ctx, more); err != nil {
				return err
			}
		}
		call.fail(fmt.Errorf("its %d texts, which get their vectors together: %w", len(call.texts), err), connector.ClassOf(err))
		return nil
	default:
		return err
	}
	all := make([]*want, len(call.texts))
	for i, v := range got {
		if err := checkVector(v, w.p.model.Dimensions); err != nil {
			call.fail(fmt.Errorf("text %d of %d that get their vectors together: %w", i+1, len(got), err), connector.ClassInvalid)
			return nil
		}
		all[i] = &want{hash: call.address(i), content: call.contents[i], text: call.texts[i], group: call.group, place: i, vector: v}
	}
	if err := w.keep(ctx, all); err != nil {
		return err
	}
	for _, x := range call.wants {
		x.vector, x.number = all[x.place].vector, all[x.place].number
	}
	return nil
}

func (c *groupCall) fail(err error, class connector.Class) {
	if class == connector.ClassTooLarge {
		err = fmt.Errorf("%w: lower max_tokens_per_request of the embedder", err)
	}
	for _, x := range c.wants {
		x.err = err
	}
}
