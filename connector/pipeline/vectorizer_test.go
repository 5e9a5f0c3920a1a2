package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/config"
	"github.com/kbsync/kbsync/connector/ledger"
)

// A document's time stands while it waits for a model, and no longer.
func TestClockStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("too long")
		ctx, cancel := withClock(t.Context(), time.Minute, cause)
		defer cancel()
		time.Sleep(40 * time.Second)
		resume := stopClock(ctx)
		again := stopClock(ctx)
		time.Sleep(time.Hour)
		resume()
		time.Sleep(time.Hour)
		again()
		time.Sleep(19 * time.Second)
		if ctx.Err() != nil {
			t.Fatal("ended early")
		}
		time.Sleep(2 * time.Second)
		if !errors.Is(context.Cause(ctx), cause) {
			t.Errorf("%v", context.Cause(ctx))
		}
		stopClock(t.Context())() // no clock: nothing happens
	})
}

// Equal texts at once are held by one; the others wait, and none waits for itself.
func TestFlights(t *testing.T) {
	var f flights
	a, b, c := &want{hash: ledger.Hash{1}}, &want{hash: ledger.Hash{2}}, &want{hash: ledger.Hash{3}}
	mine, others, landed := f.claim([]*want{a, b})
	if len(mine) != 2 || len(others) != 0 || landed != nil {
		t.Fatal(mine, others)
	}
	theirs, waiting, landed := f.claim([]*want{b, c})
	if len(theirs) != 1 || theirs[0] != c || len(waiting) != 1 || waiting[0] != b {
		t.Fatal(theirs, waiting)
	}
	f.land(mine)
	<-landed
	f.land(theirs)
	if len(f.held) != 0 {
		t.Errorf("%d are held for ever", len(f.held))
	}
}

// lettered embeds by letters, and notes what it was asked.
type lettered struct {
	connector.Embedder
	mu    sync.Mutex
	texts []string
	model connector.Model
}

func (e *lettered) Model() connector.Model { return e.model }

func (e *lettered) Embed(_ context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if len(strings.Fields(text)) > 4 {
			return nil, connector.Errorf(connector.ClassTooLarge, "too long")
		}
		out[i] = []float32{float32(len(text)), 1}
	}
	e.texts = append(e.texts, texts...)
	return out, nil
}

// A preview asks for each text once, in requests within the limits, and shortens what the model does not take where no cap of it could
// bound the strategy.
func TestPreviewedVectors(t *testing.T) {
	e := &lettered{model: connector.Model{Provider: "lettered", Dimensions: 2, MaxItems: 2, MaxInputTokens: 4, Counter: wordCounter{}}}
	p := &Pipeline{file: &config.File{}}
	p.vectors.embedder = e
	v := &askVectors{p: p, model: e.model}
	got, err := v.Vectors(t.Context(), []string{"a", "bb", "a", "ccc", "one two three four five six"})
	if err != nil || len(got) != 5 || got[0][0] != 1 || got[2][0] != 1 || got[3][0] != 3 || got[4][0] < 10 {
		t.Fatalf("%v, %v", got, err)
	}
	if _, err := v.Vectors(t.Context(), []string{"bb", "d"}); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(e.texts); len(e.texts) != 5 || slices.Contains(slices.Compact(slices.Clone(e.texts)), "") {
		t.Errorf("asked for %q", e.texts)
	}
	p.embedder = e // configured: its cap bounds the strategies, so what is too long is an error
	if _, err := v.Vectors(t.Context(), []string{"one two three four five six seven"}); connector.ClassOf(err) != connector.ClassTooLarge {
		t.Errorf("%v", err)
	}
}
