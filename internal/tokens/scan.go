package tokens

// A scanner cuts a text into pre-tokens, the pieces that byte-pair encoding
// never merges across. It returns the end of the pre-token that starts at p;
// p must be below len(text). The end depends on text[p:] alone.
type scanner func(t *classTable, text string, p int) int

// scanCL100K is the pre-tokeniser of cl100k_base, as if by the expression
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// Later releases of tiktoken write it differently (they take all white space
// at the end of the text at once); the token ids are the same, as no token of
// the vocabulary has other white space after a line break.
func scanCL100K(t *classTable, text string, p int) int {
	cl, size := t.at(text, p)
	if cl&letter != 0 {
		return t.letters(text, p+size)
	}
	if cl&num != 0 {
		return digits(t, text, p+size)
	}
	q := p + size
	if cl&nl == 0 && q < len(text) {
		if text[p] == '\'' {
			if end := contraction(text, p); end > p {
				return end
			}
		}
		next, nextSize := t.at(text, q)
		if next&letter != 0 {
			return t.letters(text, q+nextSize)
		}
		if text[p] == ' ' && next&notPunct == 0 {
			return lineBreaks(text, t.runNot(text, q+nextSize, notPunct), false)
		}
	}
	if cl&space != 0 {
		return whiteSpace(t, text, p)
	}
	return lineBreaks(text, t.runNot(text, q, notPunct), false)
}

// scanO200K is the pre-tokeniser of o200k_base, as if by the expression
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func scanO200K(t *classTable, text string, p int) int {
	cl, size := t.at(text, p)
	if cl&letter != 0 {
		end, _ := word(t, text, p)
		return contraction(text, end)
	}
	if cl&num != 0 {
		return digits(t, text, p+size)
	}
	q := p + size
	if cl&nl == 0 && q < len(text) {
		end, lower := word(t, text, q)
		if cl&low != 0 && !lower {
			end = q // a mark: alone it is a word with a lower part, which goes first
		}
		if end > q || cl&low != 0 {
			return contraction(text, end)
		}
		if text[p] == ' ' {
			if next, nextSize := t.at(text, q); next&notPunct == 0 {
				return lineBreaks(text, t.runNot(text, q+nextSize, notPunct), true)
			}
		}
	}
	if cl&space != 0 {
		return whiteSpace(t, text, p)
	}
	if cl&low != 0 {
		return q // a mark at the end of the text
	}
	return lineBreaks(text, t.runNot(text, q, notPunct), true)
}

// word matches U*L+ or else U+L* at p, where U are the runes of class up and L
// those of class low; a rune can be both. It returns p where neither matches;
// lower says that it was the first. The run of U is greedy: where no L follows
// it, U*L+ ends with the last rune of the run that is both.
func word(t *classTable, text string, p int) (end int, lower bool) {
	both, q := p, p
	for q < len(text) {
		cl, size := t.at(text, q)
		if cl&up == 0 {
			break
		}
		q += size
		if cl&low != 0 {
			both = q
		}
	}
	if end = t.run(text, asciiLetters(text, q, noFold), low); end > q {
		return end, true
	}
	if both > p {
		return both, true
	}
	return q, false
}

// contraction returns the end of (?i:'s|'t|'re|'ve|'m|'ll|'d)? at p. As in
// tiktoken, U+017F (long s) is an s in another case.
func contraction(text string, p int) int {
	if p+1 >= len(text) || text[p] != '\'' {
		return p
	}
	switch c := text[p+1]; c | 0x20 {
	case 's', 't', 'm', 'd':
		return p + 2
	case 'r', 'v', 'l':
		want := byte('e')
		if c|0x20 == 'l' {
			want = 'l'
		}
		if p+2 < len(text) && text[p+2]|0x20 == want {
			return p + 3
		}
	case 0xC5 | 0x20:
		if c == 0xC5 && p+2 < len(text) && text[p+2] == 0xBF {
			return p + 3
		}
	}
	return p
}

// digits returns the end of a group of numbers whose first ends at p.
func digits(t *classTable, text string, p int) int {
	for range 2 {
		if p == len(text) {
			break
		}
		cl, size := t.at(text, p)
		if cl&num == 0 {
			break
		}
		p += size
	}
	return p
}

// lineBreaks returns the end of [\r\n]* at p, or of [\r\n/]* with slash.
func lineBreaks(text string, p int, slash bool) int {
	for p < len(text) && (text[p] == '\n' || text[p] == '\r' || slash && text[p] == '/') {
		p++
	}
	return p
}

// whiteSpace returns the end of \s*[\r\n]+|\s+(?!\S)|\s+ at p, where a white
// space stands: after the last line break of the run; else before its last
// rune, which goes with what follows; else, at the end of the text, its end.
func whiteSpace(t *classTable, text string, p int) int {
	q, last, afterBreak := p, p, p
	for q < len(text) {
		cl, size := t.at(text, q)
		if cl&space == 0 {
			break
		}
		last = q
		q += size
		if cl&nl != 0 {
			afterBreak = q
		}
	}
	if afterBreak > p {
		return afterBreak
	}
	if q == len(text) || last == p {
		return q
	}
	return last
}
