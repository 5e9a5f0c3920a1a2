package markdown

import (
	"errors"
	"strconv"
	"strings"
)

var errTOML = errors.New("not TOML that front matter uses")

// decodeTOML reads the part of TOML 1.0 that front matter uses: tables, dotted and quoted keys, strings, numbers, booleans,
// dates (as text), arrays of these, also over several lines, inline tables and arrays of tables. nil if there is anything else.
func decodeTOML(s string) map[string]any {
	d := &tomlDecoder{s: s}
	root := map[string]any{}
	table := root
	for {
		d.blank(true)
		if d.s == "" {
			return root
		}
		if strings.HasPrefix(d.s, "[") {
			if table = d.header(root); table == nil {
				return nil
			}
		} else if err := d.assign(table, 0); err != nil {
			return nil
		}
		d.blank(false)
		if d.s != "" && !d.take("\n") {
			return nil
		}
	}
}

type tomlDecoder struct{ s string }

func (d *tomlDecoder) take(prefix string) bool {
	rest, ok := strings.CutPrefix(d.s, prefix)
	d.s = rest
	return ok
}

// blank skips white space and comments, with lines also line ends.
func (d *tomlDecoder) blank(lines bool) {
	for {
		d.s = strings.TrimLeft(d.s, " \t")
		if strings.HasPrefix(d.s, "#") {
			i := strings.IndexByte(d.s, '\n')
			if i < 0 {
				i = len(d.s)
			}
			d.s = d.s[i:]
		}
		if !lines || !d.take("\n") {
			return
		}
	}
}

// header reads [path] or [[path]], and is the table that follows; nil if it is neither.
func (d *tomlDecoder) header(root map[string]any) map[string]any {
	array := d.take("[[")
	if !array {
		d.take("[")
	}
	path, err := d.keys()
	if err != nil || array && !d.take("]]") || !array && !d.take("]") {
		return nil
	}
	if !array {
		return descend(root, path)
	}
	last := len(path) - 1
	parent := descend(root, path[:last])
	if parent == nil {
		return nil
	}
	list, ok := parent[path[last]].([]any)
	if _, taken := parent[path[last]]; taken && !ok {
		return nil
	}
	table := map[string]any{}
	parent[path[last]] = append(list, table)
	return table
}

func (d *tomlDecoder) assign(table map[string]any, depth int) error {
	path, err := d.keys()
	if err != nil || !d.take("=") {
		return errTOML
	}
	v, err := d.value(depth)
	if err != nil {
		return err
	}
	last := len(path) - 1
	if table = descend(table, path[:last]); table == nil {
		return errTOML
	}
	if _, twice := table[path[last]]; twice {
		return errTOML
	}
	table[path[last]] = v
	return nil
}

func descend(table map[string]any, path []string) map[string]any {
	for _, key := range path {
		next, ok := table[key].(map[string]any)
		if list, isList := table[key].([]any); isList && len(list) > 0 {
			next, ok = list[len(list)-1].(map[string]any)
		}
		if !ok {
			if _, taken := table[key]; taken {
				return nil
			}
			next = map[string]any{}
			table[key] = next
		}
		table = next
	}
	return table
}

func (d *tomlDecoder) keys() ([]string, error) {
	var path []string
	for {
		d.blank(false)
		key, err := d.key()
		if err != nil {
			return nil, err
		}
		path = append(path, key)
		d.blank(false)
		if !d.take(".") {
			return path, nil
		}
	}
}

func (d *tomlDecoder) key() (string, error) {
	if d.s != "" && (d.s[0] == '"' || d.s[0] == '\'') {
		return d.text()
	}
	n := 0
	for n < len(d.s) && (d.s[n] == '-' || d.s[n] == '_' || d.s[n] >= '0' && d.s[n] <= '9' || d.s[n]|0x20 >= 'a' && d.s[n]|0x20 <= 'z') {
		n++
	}
	if n == 0 {
		return "", errTOML
	}
	key := d.s[:n]
	d.s = d.s[n:]
	return key, nil
}

func (d *tomlDecoder) value(depth int) (any, error) {
	d.blank(false)
	switch {
	case d.s == "" || depth > 16:
		return nil, errTOML
	case d.s[0] == '"' || d.s[0] == '\'':
		return d.text()
	case d.s[0] == '[':
		return d.array(depth)
	case d.s[0] == '{':
		return d.inline(depth)
	}
	n := strings.IndexAny(d.s, ",]}#\n")
	if n < 0 {
		n = len(d.s)
	}
	word := strings.TrimSpace(d.s[:n])
	d.s = d.s[n:]
	switch word {
	case "true", "false":
		return word == "true", nil
	}
	number := strings.ReplaceAll(word, "_", "")
	if i, err := strconv.ParseInt(number, 0, 64); err == nil {
		return i, nil
	}
	if f, err := strconv.ParseFloat(number, 64); err == nil {
		return plainValue(f, 0), nil
	}
	if len(word) >= 8 && word[0] >= '0' && word[0] <= '9' && strings.Trim(word, "0123456789-:.TZ+ ") == "" {
		return word, nil // a date or time
	}
	return nil, errTOML
}

func (d *tomlDecoder) array(depth int) (any, error) {
	d.s = d.s[1:]
	out := []any{}
	for {
		d.blank(true)
		if d.take("]") {
			return out, nil
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		d.blank(true)
		if !d.take(",") && !strings.HasPrefix(d.s, "]") {
			return nil, errTOML
		}
	}
}

// inline reads { key = value, … }.
func (d *tomlDecoder) inline(depth int) (any, error) {
	d.s = d.s[1:]
	out := map[string]any{}
	for {
		d.blank(false)
		if d.take("}") {
			return out, nil
		}
		if err := d.assign(out, depth+1); err != nil {
			return nil, err
		}
		d.blank(false)
		if !d.take(",") && !strings.HasPrefix(d.s, "}") {
			return nil, errTOML
		}
	}
}

// text reads a string in any of the four notations.
func (d *tomlDecoder) text() (string, error) {
	quote := d.s[:1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(d.s, long) {
		body, rest, ok := strings.Cut(d.s[3:], long)
		if !ok || quote == `"` && strings.Contains(body, `\`) {
			return "", errTOML
		}
		d.s = rest
		return strings.TrimPrefix(body, "\n"), nil
	}
	for i := 1; i < len(d.s) && d.s[i] != '\n'; i++ {
		if d.s[i] == '\\' && quote == `"` {
			i++
			continue
		}
		if d.s[i:i+1] != quote {
			continue
		}
		body := d.s[1:i]
		raw := d.s[:i+1]
		d.s = d.s[i+1:]
		if quote == "'" {
			return body, nil
		}
		body, err := strconv.Unquote(raw)
		if err != nil {
			return "", errTOML
		}
		return body, nil
	}
	return "", errTOML
}
