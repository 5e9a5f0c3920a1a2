package modelfile

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// folder writes the small model as Hugging Face does.
func folder(t *testing.T, tokenizer string) string {
	t.Helper()
	dir := t.TempDir()
	m := small()
	names := map[string]string{}
	for theirs, ours := range folderNames(m.shapes()) {
		names[ours] = theirs
	}
	header, values := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, []byte{}
	for _, x := range m.Tensors {
		shape := []int{x.Rows, x.Cols}
		if strings.HasSuffix(x.Name, ".bias") || strings.Contains(x.Name, "norm") {
			shape = shape[1:]
		}
		header["bert."+names[x.Name]] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": []int{len(values), len(values) + len(x.Data)}}
		values = append(values, x.Data...)
	}
	raw, _ := json.Marshal(header)
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("model.safetensors", append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(raw))), raw...), values...))
	write("config.json", []byte(`{"model_type":"xlm-roberta","pad_token_id":1,"num_hidden_layers":2,"hidden_size":32,"num_attention_heads":4,
		"intermediate_size":64,"vocab_size":10,"max_position_embeddings":16,"type_vocab_size":2,"layer_norm_eps":1e-5}`))
	write("tokenizer.json", []byte(tokenizer))
	return dir
}

const (
	wordPieceJSON = `{"added_tokens":[{"id":4,"content":"[MASK]","special":true}],"normalizer":{"type":"BertNormalizer","lowercase":true,"strip_accents":null},
		"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"[MASK]":4,"a":5,"##b":6}}}`
	unigramJSON = `{"normalizer":{"type":"Sequence","normalizers":[{"type":"Precompiled","precompiled_charsmap":"AAAAAA=="}]},
		"model":{"type":"Unigram","unk_id":3,"vocab":[["<s>",0],["<pad>",0],["</s>",0],["<unk>",0],["▁a",-2.5]]}}`
)

func TestReadFolder(t *testing.T) {
	dir := folder(t, wordPieceJSON)
	m, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m.Tensors, small().Tensors) {
		t.Error("the tensors are others")
	}
	if c := m.Config; c.PositionOffset != 2 || c.MaxTokens != 14 || c.Epsilon != 1e-5 || c.Pooling != "mean" {
		t.Errorf("%+v", c)
	}
	if v := m.Vocabulary; v.Begin != 2 || v.End != 3 || !v.Lowercase || v.Others[0] != 4 || v.Pieces[6] != "##b" {
		t.Errorf("%+v", v)
	}
	if m, err = ReadFolder(folder(t, unigramJSON)); err != nil || m.Vocabulary.UnknownScore != -12.5 || m.Vocabulary.Unknown != 3 {
		t.Errorf("%v %+v", err, m)
	}
}

func TestUnsoundFolders(t *testing.T) {
	for _, tokenizer := range []string{"", "{}", `{"model":{"type":"BPE"}}`, strings.Replace(wordPieceJSON, `"a":5`, `"a":55`, 1), strings.Replace(wordPieceJSON, "[CLS]", "[C]", 1),
		strings.Replace(wordPieceJSON, "BertNormalizer", "NFC", 1), strings.Replace(unigramJSON, "AAAAAA==", "/////w==", 1), strings.Replace(unigramJSON, `["<s>",0]`, `[1,2]`, 1)} {
		if _, err := ReadFolder(folder(t, tokenizer)); err == nil {
			t.Errorf("%s was taken", tokenizer)
		}
	}
	dir := folder(t, wordPieceJSON)
	weights, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	shapes := small().shapes()
	for n := 0; n < len(weights); n += 97 {
		if tensors, err := readSafetensors(weights[:n], shapes); err == nil {
			t.Errorf("the first %d of %d bytes gave %d tensors", n, len(weights), len(tensors))
		}
	}
}
