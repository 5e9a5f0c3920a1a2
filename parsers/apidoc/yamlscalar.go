package apidoc

import "strings"

// scalar reads a scalar or a value in flow style at i, the value of something at column col.
func (y *yamlScan) scalar(n *node, col, depth int) error {
	switch y.s[y.i] {
	case '|', '>':
		return y.literal(n, col)
	case '{', '[', '"', '\'':
		f := flowScan{s: y.s, i: y.i}
		if err := f.value(n, depth+1); err != nil {
			return err
		}
		y.move(f.i)
		return y.restOfLine()
	}
	return y.plain(n, col)
}

// move goes to i, over lines.
func (y *yamlScan) move(i int) {
	if k := strings.LastIndexByte(y.s[y.i:i], '\n'); k >= 0 {
		y.line = y.i + k + 1
	}
	y.i, y.last = i, i
}

// restOfLine makes sure that nothing but a comment follows a value.
func (y *yamlScan) restOfLine() error {
	i := skipBlanks(y.s, y.i)
	if i < len(y.s) && y.s[i] != '\n' && (y.s[i] != '#' || i == y.i) {
		return y.fail("text follows a value on its line")
	}
	return nil
}

// literal reads a block scalar: the lines indented deeper than col.
func (y *yamlScan) literal(n *node, col int) error {
	head := y.i
	y.move(lineFeed(y.s, y.i))
	if strings.Trim(strings.SplitN(y.s[head+1:y.i], " #", 2)[0], "+-0123456789 \t") != "" {
		y.i = head
		return y.fail("a block scalar starts on the line after its mark")
	}
	for i := y.i; i < len(y.s); {
		line := i + 1 // i is at a line feed
		end := lineFeed(y.s, min(line, len(y.s)))
		p := line
		for p < end && y.s[p] == ' ' {
			p++
		}
		blank := strings.TrimSpace(y.s[min(line, end):end]) == ""
		if !blank && p-line <= col {
			break
		}
		if col < 0 && !blank && p == line && (marker(y.s[p:], "---") || marker(y.s[p:], "...")) {
			break
		}
		if !blank {
			if n.text == "" {
				n.text = short(y.s[p:end])
			}
			y.move(end)
		}
		i = end
	}
	return nil
}

// plain reads a scalar without quotation marks, which goes on over the lines indented deeper than col.
func (y *yamlScan) plain(n *node, col int) error {
	first := true
	for {
		end := lineFeed(y.s, y.i)
		text := y.s[y.i:end]
		comment := false
		if k := strings.Index(text, " #"); k >= 0 {
			text, comment = text[:k], true
		} else if k := strings.Index(text, "\t#"); k >= 0 {
			text, comment = text[:k], true
		}
		text = strings.TrimRight(text, " \t")
		if colon(y.s, y.i, y.i+len(text)) > 0 {
			return y.fail(`": " inside a value without quotation marks`)
		}
		if first {
			n.text = short(text)
		}
		first = false
		y.move(y.i + len(text))
		if comment {
			return nil
		}
		i, line := end, end
		for i < len(y.s) && (y.s[i] == '\n' || y.s[i] == ' ' || y.s[i] == '\t') {
			if y.s[i] == '\n' {
				line = i + 1
			}
			i++
		}
		if i >= len(y.s) || i-line <= col || y.s[i] == '#' || col < 0 && (marker(y.s[i:], "---") || marker(y.s[i:], "...")) {
			return nil
		}
		if strings.IndexByte(y.s[line:i], '\t') >= 0 && col >= 0 && i-line <= col {
			return nil
		}
		y.i, y.line = i, line
	}
}
