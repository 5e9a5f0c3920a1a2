package pipeline

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// ask sends n requests of so many tokens by some workers, each of which takes a second, and returns how long that took and how many were
// under way at most.
func ask(t *testing.T, p *pace, workers, n, tokens int, answer func(i int) error) (took time.Duration, most int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	next, flying := 0, 0
	start := time.Now()
	for range workers {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n {
					return
				}
				if err := p.begin(t.Context(), tokens); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				flying++
				most = max(most, flying)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				flying--
				mu.Unlock()
				p.end(answer(i))
			}
		})
	}
	wg.Wait()
	return time.Since(start), most
}

func well(int) error { return nil }

func TestPaceOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(connector.Model{RequestsPerMinute: 30}, 4) // one every two seconds
		if took, _ := ask(t, p, 4, 10, 1, well); took != 19*time.Second {
			t.Errorf("10 requests took %s, want 19s", took)
		}
	})
}

func TestPaceOfTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(connector.Model{TokensPerMinute: 600}, 4) // the first minute's at once, then 10 a second
		if took, _ := ask(t, p, 4, 4, 600, well); took != 181*time.Second {
			t.Errorf("2,400 tokens took %s, want 3m1s", took)
		}
		p = newPace(connector.Model{TokensPerMinute: 100}, 1)
		if took, _ := ask(t, p, 1, 1, 1000, well); took > time.Minute { // more than a minute's worth in one request is not waited for for ever
			t.Errorf("one large request took %s", took)
		}
	})
}

func TestPaceBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(connector.Model{}, 8)
		if took, most := ask(t, p, 8, 16, 1, well); most != 8 || took != 2*time.Second {
			t.Errorf("%d at a time, %s", most, took)
		}
		throttled := connector.Errorf(connector.ClassThrottled, "429")
		ask(t, p, 8, 8, 1, func(int) error { return throttled })
		if _, most := ask(t, p, 8, 2, 1, well); most != 1 {
			t.Errorf("after it was throttled, %d requests were under way at a time", most)
		}
		if _, most := ask(t, p, 8, 200, 1, well); most < 6 {
			t.Errorf("after 200 good answers, %d requests were under way at a time", most)
		}
	})
}

func TestBudget(t *testing.T) {
	p := newPace(connector.Model{Provider: "openai", PricePerMillion: 2, Currency: "USD", Budget: 1}, 1)
	for range 5 {
		if err := p.begin(context.Background(), 100_000); err != nil {
			t.Fatal(err)
		}
		p.end(nil)
	}
	var guard *GuardError
	if err := p.begin(context.Background(), 1000); !errors.As(err, &guard) {
		t.Fatalf("over the budget: %v", err)
	}
}

func TestPaceEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(connector.Model{RequestsPerMinute: 1}, 1)
		ask(t, p, 1, 1, 1, well)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.begin(ctx, 1); err == nil {
			t.Fatal("a minute's limit did not hold")
		}
		if p.flying != 0 {
			t.Error("the place was not given back")
		}
	})
}
