package modelfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/internal/wordpieces"
)

// tokenizerJSON is what is needed of a tokenizer.json.
type tokenizerJSON struct {
	Added []struct {
		ID      int    `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
	Normalizer *normalizerJSON `json:"normalizer"`
	Model      struct {
		Type         string          `json:"type"`
		Unknown      string          `json:"unk_token"`
		UnknownID    *int            `json:"unk_id"`
		Continuing   string          `json:"continuing_subword_prefix"`
		MaxChars     int             `json:"max_input_chars_per_word"`
		ByteFallback bool            `json:"byte_fallback"`
		Vocab        json.RawMessage `json:"vocab"`
	} `json:"model"`
}

type normalizerJSON struct {
	Type        string           `json:"type"`
	Lowercase   bool             `json:"lowercase"`
	Strip       *bool            `json:"strip_accents"`
	Chinese     *bool            `json:"handle_chinese_chars"`
	Charsmap    []byte           `json:"precompiled_charsmap"`
	Normalizers []normalizerJSON `json:"normalizers"`
}

// find returns the normalizer of a type, in sequences too.
func (n *normalizerJSON) find(kind string) *normalizerJSON {
	if n == nil || n.Type == kind {
		return n
	}
	for i := range n.Normalizers {
		if f := n.Normalizers[i].find(kind); f != nil {
			return f
		}
	}
	return nil
}

func readTokenizer(raw []byte, v *wordpieces.Vocabulary) error {
	var t tokenizerJSON
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	switch t.Model.Type {
	case "WordPiece":
		return t.wordPiece(v)
	case "Unigram":
		return t.unigram(v)
	}
	return fmt.Errorf("the model is %q: only WordPiece and Unigram are known", t.Model.Type)
}

func (t *tokenizerJSON) wordPiece(v *wordpieces.Vocabulary) error {
	v.Kind = wordpieces.WordPiece
	n := t.Normalizer.find("BertNormalizer")
	switch {
	case n == nil || n.Chinese != nil && !*n.Chinese || n.Strip != nil && *n.Strip != n.Lowercase:
		return errors.New("the normalizer is not BERT's: only that of cased and uncased BERT is known")
	case t.Model.Continuing != "##":
		return fmt.Errorf("pieces inside words begin with %q: only ## is known", t.Model.Continuing)
	}
	v.Lowercase = n.Lowercase
	var vocab map[string]int
	if err := json.Unmarshal(t.Model.Vocab, &vocab); err != nil {
		return err
	}
	v.Pieces = make([]string, len(vocab))
	for piece, id := range vocab {
		if id < 0 || id >= len(v.Pieces) {
			return fmt.Errorf("the piece %q has id %d among %d", piece, id, len(v.Pieces))
		}
		v.Pieces[id] = piece
	}
	return t.specials(v, "[CLS]", "[SEP]", "[PAD]", t.Model.Unknown)
}

func (t *tokenizerJSON) unigram(v *wordpieces.Vocabulary) error {
	v.Kind = wordpieces.Unigram
	var vocab [][2]any
	if err := json.Unmarshal(t.Model.Vocab, &vocab); err != nil {
		return err
	}
	lowest := 0.0
	for i, pair := range vocab {
		piece, ok := pair[0].(string)
		score, ok2 := pair[1].(float64)
		if !ok || !ok2 {
			return fmt.Errorf("piece %d is not a string with a number", i)
		}
		v.Pieces, v.Scores, lowest = append(v.Pieces, piece), append(v.Scores, float32(score)), min(lowest, score)
	}
	v.UnknownScore = float32(lowest - 10)
	n := t.Normalizer.find("Precompiled")
	switch {
	case t.Model.ByteFallback:
		return errors.New("unknown characters become bytes (byte_fallback): only models without that are known")
	case t.Model.UnknownID == nil || *t.Model.UnknownID < 0 || *t.Model.UnknownID >= len(v.Pieces):
		return errors.New("there is no unknown piece")
	case n == nil:
		return errors.New("the normalizer holds no precompiled map of characters, as those of SentencePiece do")
	}
	var err error
	if v.Charmap, err = wordpieces.ParseCharsmap(n.Charsmap); err != nil {
		return err
	}
	return t.specials(v, "<s>", "</s>", "<pad>", v.Pieces[*t.Model.UnknownID])
}

// specials finds the special tokens by their names, and counts what else the file names special.
func (t *tokenizerJSON) specials(v *wordpieces.Vocabulary, begin, end, pad, unknown string) error {
	for _, s := range []struct {
		name string
		id   *int32
	}{{begin, &v.Begin}, {end, &v.End}, {pad, &v.Pad}, {unknown, &v.Unknown}} {
		id := slices.Index(v.Pieces, s.name)
		if id < 0 {
			return fmt.Errorf("the special token %q is no piece", s.name)
		}
		*s.id = int32(id)
	}
	for _, a := range t.Added {
		if a.Special && a.ID >= 0 && a.ID < len(v.Pieces) && !slices.Contains([]int32{v.Begin, v.End, v.Pad, v.Unknown}, int32(a.ID)) {
			v.Others = append(v.Others, int32(a.ID))
		}
	}
	for i, p := range v.Pieces {
		if strings.HasPrefix(p, "[unused") {
			v.Others = append(v.Others, int32(i))
		}
	}
	return nil
}

// ReadTokenizer reads the vocabulary of a tokenizer.json whose algorithm is WordPiece or Unigram.
func ReadTokenizer(raw []byte) (wordpieces.Vocabulary, error) {
	var v wordpieces.Vocabulary
	if err := readTokenizer(raw, &v); err != nil {
		return wordpieces.Vocabulary{}, fmt.Errorf("modelfile: tokenizer.json: %w", err)
	}
	return v, v.Validate()
}
