package ngrams

// withoutFunctionWords leaves out the words of which a question is built and by which no text can be told from another, if
// that leaves any: they have the longest postings, and a text that shares nothing else with the question would seem to answer it. The
// list is short on purpose; a word that is left in weighs as little as its frequency says.
func withoutFunctionWords(terms []Term) []Term {
	kept := make([]Term, 0, len(terms))
	for _, t := range terms {
		if t.Prefix || !isFunctionWord(t.Text) {
			kept = append(kept, t)
		}
	}
	if len(kept) == 0 {
		return terms
	}
	return kept
}

func isFunctionWord(term string) bool {
	switch term {
	case "a", "an", "the", "and", "or", "but", "if", "of", "to", "in", "on", "at", "by", "for", "from", "with", "as", "than", "then", "so",
		"is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "done", "has", "have", "had", "having",
		"will", "would", "shall", "should", "can", "could", "must", "might",
		"i", "me", "my", "mine", "we", "our", "ours", "you", "your", "yours", "he", "him", "his", "she", "her", "hers", "its", "it", "they", "them", "their",
		"this", "that", "these", "those", "there", "here", "what", "which", "who", "whom", "whose", "when", "where", "why", "how",
		"any", "anything", "anyone", "some", "something", "someone", "s", "t", "d", "ll", "re", "ve", "m",
		// Pairs of characters that ask and point.
		"什么", "怎么", "怎样", "如何", "为何", "为什", "哪些", "哪个", "哪里", "哪种", "是否", "可以", "能否", "能不", "么样", "么办",
		"多少", "这个", "那个", "这些", "那些", "我们", "你们", "他们", "什麼", "怎麼", "怎樣", "為何", "為什", "這個", "那個", "我們", "你們", "他們":
		return true
	}
	return false
}
