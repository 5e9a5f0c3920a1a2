package embedserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// request is the body of POST /v1/embeddings.
type request struct {
	model      string
	inputs     []string
	base64     bool
	dimensions int  // 0: not given
	role       Role // if typed
	typed      bool
}

// decoder reads a body token by token, so that what will be refused is not held in memory first.
type decoder struct {
	json *json.Decoder
	max  int // texts
	req  request
	seen map[string]bool
}

// decode reads a body. Names are taken as they are written, a name that is given twice or is not known is refused: it would be a wish
// that is not granted.
func decode(body []byte, maxInputs int) (*request, *failure) {
	if !utf8.Valid(body) {
		return nil, invalid("", "the body is not valid UTF-8")
	}
	if at := loneSurrogate(body); at >= 0 {
		return nil, invalid("input", "at byte %d of the body, %s is half of a character: send the other half with it or leave it out", at, body[at:at+6])
	}
	d := &decoder{json: json.NewDecoder(bytes.NewReader(body)), max: maxInputs, seen: map[string]bool{}}
	d.json.UseNumber()
	if f := d.object(); f != nil {
		return nil, f
	}
	if _, err := d.json.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid("", "the body holds more than one JSON object")
	}
	switch {
	case !d.seen["input"]:
		return nil, invalid("input", "you must provide an input")
	case len(d.req.inputs) == 0:
		return nil, coded("input", "empty_array", "Invalid 'input': empty array. Expected an array with minimum length 1")
	}
	for i, text := range d.req.inputs {
		if strings.TrimSpace(text) == "" {
			return nil, coded(place(i), "empty_string", "Invalid 'input[%d]': it is empty or blank, and has no vector", i)
		}
	}
	return &d.req, nil
}

// place names a text, as OpenAI does.
func place(i int) string { return fmt.Sprintf("input[%d]", i) }

func (d *decoder) object() *failure {
	t, f := d.token()
	if f != nil {
		return f
	}
	if t != json.Delim('{') {
		return invalid("", "the body is not a JSON object")
	}
	for d.json.More() {
		t, f := d.token()
		if f != nil {
			return f
		}
		name, _ := t.(string) // the decoder allows nothing else here
		if d.seen[name] {
			return invalid(shorten(name), "%.40q is given twice", name)
		}
		if d.seen[name] = true; len(d.seen) > 32 {
			return invalid("", "the body has too many keys")
		}
		if f := d.field(name); f != nil {
			return f
		}
	}
	_, f = d.token()
	return f
}

func (d *decoder) field(name string) *failure {
	v, f := d.token()
	if f != nil {
		return f
	}
	if name == "input" {
		return d.input(v)
	}
	if v == nil { // as if it were not there
		return nil
	}
	text, isText := v.(string)
	switch name {
	case "model":
		if d.req.model = text; !isText {
			return mistyped(name, "a string", v)
		}
	case "user":
		if !isText {
			return mistyped(name, "a string", v)
		}
	case "encoding_format":
		if d.req.base64 = text == "base64"; text != "base64" && text != "float" {
			return coded(name, "invalid_value", "Invalid 'encoding_format': %.40s. Choose float or base64", shown(v))
		}
	case "dimensions":
		number, _ := v.(json.Number)
		n, err := strconv.Atoi(number.String())
		if err != nil || n < 1 {
			return coded(name, "invalid_value", "Invalid 'dimensions': %.40s. Expected a whole number of 1 or more", shown(v))
		}
		d.req.dimensions = n
	case "input_type":
		role, err := ParseRole(text)
		if err != nil {
			return coded(name, "invalid_value", "Invalid 'input_type': %.40s. Choose document, passage, search_document, query or search_query", shown(v))
		}
		d.req.role, d.req.typed = role, true
	default:
		return invalid(shorten(name), "Unrecognized request argument supplied: %.40s", shown(name))
	}
	return nil
}

// input reads a text or an array of texts.
func (d *decoder) input(v json.Token) *failure {
	switch v := v.(type) {
	case string:
		d.req.inputs = []string{v}
		return nil
	case json.Delim:
		if v != '[' {
			return mistyped("input", "a string or an array of strings", v)
		}
	default:
		return mistyped("input", "a string or an array of strings", v)
	}
	for d.json.More() {
		v, f := d.token()
		if f != nil {
			return f
		}
		i := len(d.req.inputs)
		text, isText := v.(string)
		switch v.(type) {
		case json.Number, json.Delim:
			return invalid(place(i), "Invalid 'input[%d]': token arrays are not taken here, since they belong to the tokenizer of one model; send the text itself", i)
		}
		switch {
		case !isText:
			return mistyped(place(i), "a string", v)
		case i >= d.max:
			return coded("input", "array_above_max_length", "Invalid 'input': array too long. Expected an array with maximum length %d", d.max)
		}
		d.req.inputs = append(d.req.inputs, text)
	}
	_, f := d.token() // the bracket
	return f
}

func (d *decoder) token() (json.Token, *failure) {
	t, err := d.json.Token()
	if err == nil {
		return t, nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, invalid("", "We could not parse the JSON body of your request: it ends too early")
	}
	return nil, invalid("", "We could not parse the JSON body of your request: %.200s", err.Error())
}

func mistyped(param, want string, got json.Token) *failure {
	return coded(param, "invalid_type", "Invalid type for '%s': expected %s, but got %.40s instead", param, want, shown(got))
}

// shown is a token for a message.
func shown(v json.Token) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(shorten(v))
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "an array"
	}
	return shorten(fmt.Sprint(v))
}

func shorten(s string) string {
	if r := []rune(s[:min(len(s), 160)]); len(r) > 30 {
		return string(r[:30]) + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// loneSurrogate finds the first \u escape that is one half of a surrogate pair, which encoding/json would replace in silence; -1 if there is
// none. Backslashes stand in JSON within strings alone.
func loneSurrogate(body []byte) int {
	for i := 0; i < len(body); {
		next := bytes.IndexByte(body[i:], '\\')
		if next < 0 {
			return -1
		}
		i += next
		switch half := surrogate(body[i:]); {
		case half == 0:
			i += 2
		case half > 0 && surrogate(body[i+6:]) < 0:
			i += 12
		default:
			return i
		}
	}
	return -1
}

// surrogate is 1 if b begins with the escape of a high surrogate, -1 with that of a low one, else 0.
func surrogate(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' || b[2]|0x20 != 'd' {
		return 0
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	switch {
	case err != nil:
		return 0
	case n >= 0xd800 && n < 0xdc00:
		return 1
	case n >= 0xdc00 && n < 0xe000:
		return -1
	}
	return 0
}
