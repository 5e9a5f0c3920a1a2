package wordpieces

import "errors"

func newUnigram(*Vocabulary) (Tokenizer, error) {
	return nil, errors.New("wordpieces: unigram is not built yet")
}

func newBERT(*Vocabulary) (Tokenizer, error) {
	return nil, errors.New("wordpieces: wordpiece is not built yet")
}
