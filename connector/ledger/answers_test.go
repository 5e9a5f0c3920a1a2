package ledger

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

func answerKey(n int, model string) AnswerKey {
	return AnswerKey{Content: fmt.Sprintf("%064x", n), Model: model, Prompt: "propositions/1"}
}

// TestAnswers: what is kept comes back bit for bit, under its own key alone, also from a ledger that is opened anew and only read.
func TestAnswers(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "l.db")
	l, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []AnswerKey{answerKey(1, "m")} { // before any is kept
		if _, ok, err := l.Answer(ctx, key); ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}
	if n, err := l.CountAnswers(ctx); len(n) != 0 || err != nil {
		t.Fatalf("%v, %v", n, err)
	}
	want := []KeptAnswer{
		{answerKey(1, "m"), connector.LLMAnswer{Text: "a\x00b\xff{\"x\":\"好\"}", TokensIn: 3, TokensOut: 4}},
		{answerKey(1, "other"), connector.LLMAnswer{Finish: connector.FinishRefused}},
		{answerKey(2, "m"), connector.LLMAnswer{Text: strings.Repeat("long ", 1<<18), Finish: connector.FinishLength}},
	}
	for _, k := range want {
		if err := l.KeepAnswers(ctx, KeptAnswer{k.Key, connector.LLMAnswer{Text: "an older one"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.KeepAnswers(ctx, want...), l.AddAnswers(ctx, KeptAnswer{want[0].Key, connector.LLMAnswer{Text: "another"}})); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(ctx, path, Options{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	var got []KeptAnswer
	for k, err := range l.Answers(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, k)
		if a, ok, err := l.Answer(ctx, k.Key); !ok || err != nil || a != k.Answer {
			t.Errorf("%+v: %v, %v", k.Key, ok, err)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%.300q", fmt.Sprint(got))
	}
	other := want[0].Key
	other.Prompt = "propositions/2"
	if _, ok, err := l.Answer(ctx, other); ok || err != nil {
		t.Errorf("another version of the prompt: %v, %v", ok, err)
	}
	if _, _, err := l.Answer(ctx, AnswerKey{Content: "no hash"}); err == nil {
		t.Error("no error for a key that is none")
	}
	if n, err := l.PruneAnswers(ctx, "m", true); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(ctx, path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if n, err := l.PruneAnswers(ctx, "m", false); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := l.CountAnswers(ctx); !reflect.DeepEqual(n, map[string]int{"other": 1}) || err != nil {
		t.Errorf("%v, %v", n, err)
	}
}

// TestAnswersOfOlderLedgers: a ledger without the table is read as one without answers, and gets it with the first; its version stays, so that
// older programs go on reading it.
func TestAnswersOfOlderLedgers(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "l.db")
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.ExecContext(ctx, schema+"PRAGMA user_version = 2")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	ro, err := Open(ctx, path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := ro.Answer(ctx, answerKey(1, "m")); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	for k, err := range ro.Answers(ctx) {
		t.Errorf("%v, %v", k, err)
	}
	if err := ro.KeepAnswers(ctx, KeptAnswer{Key: answerKey(1, "m")}); err == nil {
		t.Error("an answer was kept in a ledger that is only read")
	}
	if err := ro.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := l.KeepAnswers(ctx, KeptAnswer{answerKey(1, "m"), connector.LLMAnswer{Text: "x"}}); err != nil {
		t.Fatal(err)
	}
	var version int
	if err := l.read.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version != schemaVersion {
		t.Errorf("version %d, %v", version, err)
	}
	if a, ok, err := l.Answer(ctx, answerKey(1, "m")); !ok || err != nil || a.Text != "x" {
		t.Errorf("%+v, %v, %v", a, ok, err)
	}
}
