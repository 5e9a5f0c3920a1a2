package config

import (
	"regexp"
	"strings"
)

// Block is a fenced YAML block of a Markdown document.
type Block struct {
	// Line is the 1-based line of its first line of YAML.
	Line int
	// Scope is what the comment before the block says that it is: "" for a whole configuration, "part" for one
	// that may lack its sources, "source", "strategy", "embedder" or "sink" for a map of kinds each with its
	// configuration, "other" for YAML that is none of kbsync's.
	Scope string
	Text  string
}

var (
	openFence  = regexp.MustCompile("^( {0,3})(```+|~~~+) *ya?ml *$")
	blockScope = regexp.MustCompile(`^ {0,3}<!-- yaml: ([a-z]+) -->\s*$`)
)

// Blocks finds the YAML blocks of a Markdown document, so that a test can check every example. A block that is not
// a whole configuration has an HTML comment before it: <!-- yaml: part -->, or another of the scopes.
func Blocks(markdown []byte) []Block {
	var out []Block
	scope := ""
	lines := strings.Split(strings.ReplaceAll(string(markdown), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if m := blockScope.FindStringSubmatch(lines[i]); m != nil {
			scope = m[1]
			continue
		}
		m := openFence.FindStringSubmatch(lines[i])
		if m == nil {
			if strings.TrimSpace(lines[i]) != "" {
				scope = ""
			}
			continue
		}
		b := Block{Line: i + 2, Scope: scope}
		var text strings.Builder
		for i++; i < len(lines) && !strings.HasPrefix(strings.TrimLeft(lines[i], " "), m[2]); i++ {
			text.WriteString(strings.TrimPrefix(lines[i], m[1]) + "\n")
		}
		b.Text = text.String()
		out = append(out, b)
		scope = ""
	}
	return out
}

// Configurations turns a block into texts that Parse takes: itself if it is a whole configuration or a part, one for
// each kind if it is a map of kinds, none for other YAML and for scopes that do not exist. Where Scope is neither
// "" nor "source", Options.Partial is needed.
func (b Block) Configurations() []string {
	switch b.Scope {
	case "", "part":
		return []string{b.Text}
	case "source", "strategy", "parser", "embedder", "sink":
	default:
		return nil
	}
	var out []string
	for _, kind := range splitTop(b.Text) {
		indented := "    " + strings.ReplaceAll(strings.TrimRight(kind, "\n"), "\n", "\n    ") + "\n"
		switch b.Scope {
		case "source":
			out = append(out, "sources:\n  -\n"+indented)
		case "strategy", "parser":
			out = append(out, "rules:\n- "+b.Scope+":\n"+indented)
		default:
			out = append(out, b.Scope+":\n"+indented)
		}
	}
	return out
}

// splitTop cuts YAML text before each of its top-level keys.
func splitTop(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if len(out) == 0 || !strings.ContainsRune(" #\n}]", rune(line[0])) {
			out = append(out, "")
		}
		out[len(out)-1] += line
	}
	return out
}
