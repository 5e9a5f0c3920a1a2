package fs

import (
	"bytes"
	"strings"
)

// pattern is one line of an ignore file, with the meaning that gitignore(5) gives it.
type pattern struct {
	negated bool
	folders bool // matches folders alone
	// base patterns match a name in any folder below; others the whole path from the ignore file's folder.
	base     bool
	literal  bool // segments[0] has no wildcard
	segments []string
}

// ignores is the ignore files of one folder and, through up, those of the folders above.
type ignores struct {
	prefix   int // length of the folder's path with its slash
	patterns []pattern
	up       *ignores
}

// ignored decides about a path: the deepest folder that has a say, and there the last pattern that matches. That
// everything in an ignored folder is ignored comes from not descending.
func (ig *ignores) ignored(path string, isDir bool) bool {
	for ; ig != nil; ig = ig.up {
		rel := path[ig.prefix:]
		name := rel[strings.LastIndexByte(rel, '/')+1:]
		for i := len(ig.patterns) - 1; i >= 0; i-- {
			if p := &ig.patterns[i]; p.matches(rel, name, isDir) {
				return !p.negated
			}
		}
	}
	return false
}

func (p *pattern) matches(rel, name string, isDir bool) bool {
	switch {
	case p.folders && !isDir:
		return false
	case p.base && p.literal:
		return name == p.segments[0]
	case p.base:
		return matchName(p.segments[0], name)
	}
	return matchPath(p.segments, rel)
}

var utf8BOM = []byte("\xef\xbb\xbf")

// parseIgnore reads an ignore file. Lines that can match nothing are left out.
func parseIgnore(data []byte) []pattern {
	var out []pattern
	for line := range bytes.Lines(bytes.TrimPrefix(data, utf8BOM)) {
		text := string(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
		if p, ok := parsePattern(text); ok {
			out = append(out, p)
		}
	}
	return out
}

func parsePattern(line string) (pattern, bool) {
	if strings.HasPrefix(line, "#") {
		return pattern{}, false
	}
	line = trimSpaces(line)
	var p pattern
	line, p.negated = strings.CutPrefix(line, "!")
	line, p.folders = strings.CutSuffix(line, "/")
	if line == "" {
		return pattern{}, false
	}
	p.base = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if p.base {
		p.segments = []string{line}
		p.literal = !strings.ContainsAny(line, `*?[\`)
		return p, true
	}
	p.segments = splitPattern(line)
	return p, true
}

// splitPattern cuts a pattern at its slashes, quoted ones too. A segment of more than two stars means two.
func splitPattern(line string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		segment := line[start:end]
		if len(segment) > 2 && strings.Trim(segment, "*") == "" {
			segment = "**"
		}
		out = append(out, segment)
	}
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '/':
			cut(i)
			i++
			start = i + 1
		case line[i] == '\\':
			i++
		case line[i] == '/':
			cut(i)
			start = i + 1
		}
	}
	cut(len(line))
	return out
}

// trimSpaces drops spaces at the end of a line, but for one that a backslash quotes.
func trimSpaces(line string) string {
	end := len(line)
	for end > 0 && line[end-1] == ' ' {
		slashes := 0
		for i := end - 2; i >= 0 && line[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 1 {
			break
		}
		end--
	}
	return line[:end]
}

// matchPath matches a path segment by segment. ** stands for any number of segments, at the end of the pattern for at
// least one. Going back to the last ** alone is enough, so the time is at most quadratic.
func matchPath(segments []string, path string) bool {
	type point struct {
		seg  int
		path string
	}
	var back point
	hasBack := false
	at := point{0, path}
	done := false // the path is used up
	for {
		switch {
		case at.seg == len(segments):
			if done {
				return true
			}
		case segments[at.seg] == "**" && at.seg == len(segments)-1:
			return !done
		case segments[at.seg] == "**":
			back, hasBack = point{at.seg + 1, at.path}, !done
			at.seg++
			continue
		case !done:
			name, rest, more := strings.Cut(at.path, "/")
			if matchName(segments[at.seg], name) {
				at = point{at.seg + 1, rest}
				done = !more
				continue
			}
		}
		if !hasBack {
			return false
		}
		_, rest, more := strings.Cut(back.path, "/")
		if !more {
			return false
		}
		back.path = rest
		at, done = back, false
	}
}

// matchName matches one name: * and ** any bytes, ? one byte, [a-z] [!a-z] [[:alpha:]] a set, \ quotes. A pattern
// that is malformed matches nothing.
func matchName(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0
	for {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p+1, n
			p++
			continue
		}
		if n == len(name) && p == len(pattern) {
			return true
		}
		if n < len(name) && p < len(pattern) {
			ok, next, bad := matchByte(pattern, p, name[n])
			if bad {
				return false
			}
			if ok {
				p, n = next, n+1
				continue
			}
		}
		if star < 0 || mark >= len(name) {
			return false
		}
		mark++
		p, n = star, mark
	}
}

// matchByte matches one byte with the pattern's item at p; next is where the item ends.
func matchByte(pattern string, p int, c byte) (ok bool, next int, bad bool) {
	switch pattern[p] {
	case '?':
		return true, p + 1, false
	case '\\':
		if p+1 == len(pattern) {
			return false, 0, true
		}
		return pattern[p+1] == c, p + 2, false
	case '[':
		return matchSet(pattern, p+1, c)
	}
	return pattern[p] == c, p + 1, false
}

// matchSet matches a bracket expression whose first byte after the bracket is at p.
func matchSet(pattern string, p int, c byte) (ok bool, next int, bad bool) {
	negated := false
	if p < len(pattern) && (pattern[p] == '!' || pattern[p] == '^') {
		negated = true
		p++
	}
	found := false
	for first := true; ; first = false {
		if p >= len(pattern) {
			return false, 0, true
		}
		if pattern[p] == ']' && !first {
			return found != negated, p + 1, false
		}
		if strings.HasPrefix(pattern[p:], "[:") {
			end := strings.Index(pattern[p+2:], ":]")
			if end < 0 {
				return false, 0, true
			}
			member, known := inClass(pattern[p+2:p+2+end], c)
			if !known {
				return false, 0, true
			}
			found = found || member
			p += end + 4
			continue
		}
		lo, after, ok := setByte(pattern, p)
		if !ok {
			return false, 0, true
		}
		hi := lo
		if after+1 < len(pattern) && pattern[after] == '-' && pattern[after+1] != ']' {
			if hi, after, ok = setByte(pattern, after+1); !ok {
				return false, 0, true
			}
		}
		found = found || lo <= c && c <= hi
		p = after
	}
}

func setByte(pattern string, p int) (c byte, next int, ok bool) {
	if pattern[p] == '\\' {
		p++
	}
	if p >= len(pattern) {
		return 0, 0, false
	}
	return pattern[p], p + 1, true
}

func inClass(name string, c byte) (member, known bool) {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < 0x20 || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return c > 0x20 && c < 0x7f, true
	case "lower":
		return lower, true
	case "print":
		return c >= 0x20 && c < 0x7f, true
	case "punct":
		return c > 0x20 && c < 0x7f && !lower && !upper && !digit, true
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r', true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	}
	return false, false
}
