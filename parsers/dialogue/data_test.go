package dialogue

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/connector/parsertest"
	"github.com/kbsync/kbsync/internal/shareddata"
)

// What the parser makes of JSON loses no word: all strings of the document are in the text, or among what was left out.
func TestKdConv(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(shareddata.Dir(t), "fixtures", "dialog_zh_kdconv_Apache2", "film_dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	els, err := parsertest.Collect(context.Background(), open(t, "auto"), "film_dev.json", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := parsertest.CheckElements(els); err != nil {
		t.Error(err)
	}
	var talks []struct {
		Messages []struct{ Message string }
	}
	if err := json.Unmarshal(b, &talks); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, el := range els {
		if el.Table != nil {
			ids[el.Table.ID] = true
		}
	}
	if len(ids) != len(talks) {
		t.Errorf("%d conversations, want %d", len(ids), len(talks))
	}
	text := parsertest.Text(els)
	for _, talk := range talks {
		for _, m := range talk.Messages {
			if !strings.Contains(text, strings.TrimSpace(m.Message)) {
				t.Errorf("lost: %q", m.Message)
			}
		}
	}
	var all any
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	split := func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '\\' }
	held := map[string]bool{}
	for _, el := range els {
		for _, word := range strings.FieldsFunc(el.Text, split) {
			held[word] = true
		}
	}
	everyString(all, func(s string) {
		for _, word := range strings.FieldsFunc(s, split) {
			if !held[word] {
				t.Errorf("lost: %q", word)
			}
		}
	})
}

func everyString(v any, visit func(string)) {
	switch v := v.(type) {
	case string:
		visit(v)
	case []any:
		for _, member := range v {
			everyString(member, visit)
		}
	case map[string]any:
		for _, member := range v {
			everyString(member, visit)
		}
	}
}

// The chat logs of Chroma's evaluation are lists as Python prints them, one a line.
func TestChatlogs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(shareddata.Dir(t), "chroma_chunking_evaluation", "corpora", "chatlogs.md"))
	if err != nil {
		t.Fatal(err)
	}
	els, err := parsertest.Collect(context.Background(), open(t, "auto"), "chatlogs.md", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	speakers := map[string]int{}
	other := 0
	for _, el := range els {
		switch {
		case el.Table != nil:
			speakers[el.Table.Rows[0].Cells[0]]++
		case el.Kind != connector.KindDropped:
			other += len(el.Text)
		}
	}
	if len(speakers) != 2 || speakers["user"] < 20 || speakers["assistant"] < 19 || other > 2000 { // the last list breaks off in the midst of a string
		t.Errorf("speakers %v, %d bytes of other text", speakers, other)
	}
}

// The cues of real files keep their words.
func TestCuesOfData(t *testing.T) {
	files := 0
	err := filepath.WalkDir(shareddata.Dir(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".vtt" {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		els, err := parsertest.Collect(context.Background(), open(t, "auto"), path, bytes.NewReader(b))
		if err != nil {
			return err
		}
		if err := parsertest.CheckElements(els); err != nil {
			t.Error(path, err)
		}
		if !strings.Contains(string(b), "&") {
			for _, word := range strings.FieldsFunc(strings.ReplaceAll(string(b), "<", " <"), func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("<>/", r) }) {
				if parsertest.CheckSentinels(els, []string{strings.TrimPrefix(word, "\ufeff")}) != nil {
					t.Errorf("%s: lost %q", path, word)
				}
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatal(err, files)
	}
}

// Detect takes no prose of the data for a conversation: no document, and no 16 KiB out of one.
func TestDetectProse(t *testing.T) {
	looked, wrong := 0, 0
	err := filepath.WalkDir(shareddata.Dir(t), func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || ext != ".md" && ext != ".txt" && ext != ".tex" && ext != ".csv" && ext != ".html" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || !utf8.Valid(b) {
			return err
		}
		for at := 0; at < len(b); at += 16 << 10 {
			piece := strings.ToValidUTF8(string(b[at:min(len(b), at+16<<10)]), "")
			looked++
			if e, ok := Detect([]byte(piece)); ok {
				wrong++
				t.Errorf("%s at %d: %+v", path, at, e)
			}
		}
		return nil
	})
	t.Logf("%d of %d pieces of prose taken for conversations", wrong, looked)
	if err != nil || looked < 100 {
		t.Fatal(err, looked)
	}
}
