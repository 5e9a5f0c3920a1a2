package vectorstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// aged makes a store with 3 times n vectors of the model, used 100, 50 and 0 days ago, and n of another model that were used 70 days ago.
func aged(t *testing.T, n int) (s *Store, now *time.Time) {
	t.Helper()
	clock := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	s = open(t, filepath.Join(t.TempDir(), "v.db"), Options{Create: true, Now: func() time.Time { return clock }})
	end := clock
	for round, days := range []int{100, 50, 0, 70} {
		clock = end.AddDate(0, 0, -days)
		var batch []Vector
		for i := range n {
			batch = append(batch, text(round*n+i))
		}
		name := model
		if days == 70 {
			name = "other/model"
		}
		if err := s.Put(context.Background(), name, batch); err != nil {
			t.Fatal(err)
		}
	}
	clock = end
	return s, &clock
}

func counts(t *testing.T, s *Store) (mine, other int) {
	t.Helper()
	st, err := s.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range st {
		if m.Model == model {
			mine = m.Vectors
		} else {
			other = m.Vectors
		}
	}
	return mine, other
}

func TestPrune(t *testing.T) {
	const n = 700 // more than a batch
	day := 24 * time.Hour
	each := int64(4*dims + overhead)
	for name, c := range map[string]struct {
		opts        PruneOptions
		mine, other int // left
	}{
		"by age":                {PruneOptions{OlderThan: 60 * day}, 2 * n, 0},
		"by age, of a model":    {PruneOptions{OlderThan: 60 * day, Model: model}, 2 * n, n},
		"nothing so old":        {PruneOptions{OlderThan: 365 * day}, 3 * n, n},
		"a model":               {PruneOptions{Model: "other/model"}, 3 * n, 0},
		"by size":               {PruneOptions{MaxBytes: 3 * n * each}, 3*n - n, n},
		"by size, not a whole":  {PruneOptions{MaxBytes: 3*n*each - 1}, 3*n - n, n - 1},
		"by size, of a model":   {PruneOptions{MaxBytes: n * each, Model: model}, n, n},
		"room for all":          {PruneOptions{MaxBytes: 1 << 40}, 3 * n, n},
		"by age and size":       {PruneOptions{OlderThan: 60 * day, MaxBytes: n * each}, n, 0},
		"the size asks no more": {PruneOptions{OlderThan: 60 * day, MaxBytes: 2 * n * each}, 2 * n, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := aged(t, n)
			c.opts.DryRun = true
			would, err := s.Prune(context.Background(), c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if mine, other := counts(t, s); mine != 3*n || other != n {
				t.Fatal("a dry run removed something")
			}
			c.opts.DryRun = false
			did, err := s.Prune(context.Background(), c.opts)
			if err != nil || did != would {
				t.Fatalf("removed %+v, would remove %+v (%v)", did, would, err)
			}
			mine, other := counts(t, s)
			if mine != c.mine || other != c.other || did.Vectors != 4*n-mine-other {
				t.Errorf("left %d and %d, want %d and %d; it says %+v", mine, other, c.mine, c.other, did)
			}
			var orphans, free int
			if err := s.read.QueryRow("SELECT count(*) FROM vectors WHERE n NOT IN (SELECT n FROM keys)").Scan(&orphans); err != nil || orphans > 0 {
				t.Errorf("%d vectors without a key (%v)", orphans, err)
			}
			if err := s.read.QueryRow("PRAGMA freelist_count").Scan(&free); err != nil || free > 0 {
				t.Errorf("%d pages were not given back (%v)", free, err)
			}
			intact(t, s)
		})
	}
	s, _ := aged(t, 1)
	if _, err := s.Prune(context.Background(), PruneOptions{}); err == nil {
		t.Error("nothing was named, and it went")
	}
	if _, err := s.Prune(context.Background(), PruneOptions{Model: "unknown"}); !errors.Is(err, ErrNoModel) {
		t.Errorf("an unknown model: %v", err)
	}
}

func TestPruneShrinksTheFile(t *testing.T) {
	s, _ := aged(t, 3000)
	size := func() int64 {
		if _, err := s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	if _, err := s.Prune(context.Background(), PruneOptions{Model: model}); err != nil {
		t.Fatal(err)
	}
	if after := size(); after > before/2 {
		t.Errorf("the file has %d bytes, %d before three quarters went", after, before)
	}
}

// TestUseIsNoted: what is looked up stays when older things go, and is written down at most once a day.
func TestUseIsNoted(t *testing.T) {
	s, now := aged(t, 10)
	get(t, s, model, dims, text(0), text(1))
	s.flushUsed(context.Background(), 1)
	if _, err := s.Prune(context.Background(), PruneOptions{OlderThan: 90 * 24 * time.Hour, Model: model}); err != nil {
		t.Fatal(err)
	}
	if mine, _ := counts(t, s); mine != 22 {
		t.Errorf("%d are left, want the 20 that are younger and the 2 that were used", mine)
	}
	*now = now.Add(23 * time.Hour)
	get(t, s, model, dims, text(0))
	if len(s.used) != 0 {
		t.Error("a second use in one day is written")
	}
	*now = now.Add(2 * time.Hour)
	get(t, s, model, dims, text(0))
	if len(s.used) != 1 {
		t.Error("a use on the next day is not written")
	}
}
