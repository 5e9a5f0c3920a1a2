package pdf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/pagelayout"
)

// textLine is a line that OCR found, and where, in pixels; the zero box where it does not say.
type textLine struct {
	text string
	box  connector.Box
}

// maxNesting bounds the depth of an answer.
const maxNesting = 32

// answerLines reads an answer: plain text, or JSON with lines and their places as PaddleOCR gives them.
func answerLines(answer []byte) ([]textLine, error) {
	answer = bytes.TrimPrefix(answer, []byte("\xEF\xBB\xBF"))
	if start := bytes.TrimLeft(answer, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		var v any
		if json.Unmarshal(start, &v) == nil {
			return jsonLines(v)
		}
	}
	var lines []textLine
	text := strings.ReplaceAll(strings.ToValidUTF8(string(answer), "\uFFFD"), "\r\n", "\n")
	for _, l := range strings.Split(strings.Trim(text, "\n\f"), "\n") {
		lines = append(lines, textLine{text: strings.TrimRight(strings.ReplaceAll(l, "\f", ""), " \t\r")})
	}
	return lines, nil
}

func jsonLines(v any) ([]textLine, error) {
	if m, ok := v.(map[string]any); ok {
		if code, ok := m["errorCode"].(float64); ok && code != 0 {
			return nil, fmt.Errorf("the service says %v: %v", code, m["errorMsg"])
		}
		if status, ok := m["status"].(string); ok && strings.Trim(status, "0123456789") == "" && strings.Trim(status, "0") != "" && status != "200" {
			return nil, fmt.Errorf("the service says %s: %v", status, m["msg"])
		}
	}
	w := answerWalk{}
	w.walk(v, 0)
	return w.lines, nil
}

// answerWalk looks for lines in JSON, whatever it is wrapped in.
type answerWalk struct{ lines []textLine }

func (w *answerWalk) walk(v any, depth int) {
	if depth > maxNesting {
		return
	}
	switch v := v.(type) {
	case []any:
		if len(v) == 2 && w.pair(v[0], v[1]) {
			return
		}
		for _, x := range v {
			w.walk(x, depth+1)
		}
	case map[string]any:
		if w.table(v) || w.line(v) {
			return
		}
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			w.walk(v[k], depth+1)
		}
	}
}

// pair takes [place, [text, confidence]].
func (w *answerWalk) pair(place, said any) bool {
	s, ok := said.([]any)
	if !ok || len(s) == 0 {
		return false
	}
	text, ok := s[0].(string)
	if box, known := boxOf(place); ok && known {
		w.lines = append(w.lines, textLine{text, box})
		return true
	}
	return false
}

// line takes an object with a text and perhaps a place.
func (w *answerWalk) line(m map[string]any) bool {
	text, ok := m["text"].(string)
	if !ok {
		return false
	}
	for _, key := range [...]string{"text_region", "poly", "points", "box", "bbox"} {
		if box, ok := boxOf(m[key]); ok {
			w.lines = append(w.lines, textLine{text, box})
			return true
		}
	}
	for _, l := range strings.Split(text, "\n") {
		w.lines = append(w.lines, textLine{text: l})
	}
	return true
}

// table takes an object with a list of texts and one of places.
func (w *answerWalk) table(m map[string]any) bool {
	texts, ok := m["rec_texts"].([]any)
	if !ok {
		return false
	}
	var places []any
	for _, key := range [...]string{"rec_boxes", "rec_polys", "dt_polys"} {
		if p, ok := m[key].([]any); ok && len(p) == len(texts) {
			places = p
			break
		}
	}
	for i, t := range texts {
		text, _ := t.(string)
		l := textLine{text: text}
		if places != nil {
			l.box, _ = boxOf(places[i])
		}
		w.lines = append(w.lines, l)
	}
	return true
}

// boxOf reads [x0, y0, x1, y1] or a list of corners.
func boxOf(v any) (connector.Box, bool) {
	list, ok := v.([]any)
	if !ok || len(list) < 2 {
		return connector.Box{}, false
	}
	var xs, ys []float64
	for i, x := range list {
		switch x := x.(type) {
		case float64:
			if len(list)%2 != 0 {
				return connector.Box{}, false
			}
			if i%2 == 0 {
				xs = append(xs, x)
			} else {
				ys = append(ys, x)
			}
		case []any:
			if len(x) != 2 {
				return connector.Box{}, false
			}
			a, aok := x[0].(float64)
			b, bok := x[1].(float64)
			if !aok || !bok {
				return connector.Box{}, false
			}
			xs, ys = append(xs, a), append(ys, b)
		default:
			return connector.Box{}, false
		}
	}
	if len(xs) != len(ys) || len(xs) < 2 {
		return connector.Box{}, false
	}
	b := connector.Box{X0: xs[0], Y0: ys[0], X1: xs[0], Y1: ys[0]}
	for i := range xs {
		b = connector.Box{X0: min(b.X0, xs[i]), Y0: min(b.Y0, ys[i]), X1: max(b.X1, xs[i]), Y1: max(b.Y1, ys[i])}
	}
	return b, b.X1 > b.X0 && b.Y1 > b.Y0
}

// How lines are set whose places are not known, in points.
const (
	setSize   = 10.0
	setPitch  = 12.5
	setMargin = 50.0
)

// setLines puts lines on a page, scale pixels a point. Where one does not say where it stands all are set one below the other, and
// unplaced is true.
func setLines(out *pagelayout.Page, lines []textLine, scale float64) (unplaced bool) {
	found := false
	for _, l := range lines {
		if strings.TrimSpace(l.text) != "" {
			found = true
			unplaced = unplaced || l.box == connector.Box{}
		}
	}
	if !found {
		return false
	}
	if unplaced {
		out.Height = max(out.Height, setPitch*float64(len(lines))+2*setMargin)
	}
	for i, l := range lines {
		text := strings.TrimSpace(l.text)
		if text == "" {
			continue
		}
		b := connector.Box{X0: l.box.X0 / scale, Y0: l.box.Y0 / scale, X1: l.box.X1 / scale, Y1: l.box.Y1 / scale}
		size := 0.75 * (b.Y1 - b.Y0) // boxes leave room around the letters
		if unplaced {
			indent := float64(len(l.text)-len(strings.TrimLeft(l.text, " "))) * setSize / 2
			x, y := setMargin+indent, setMargin+setPitch*float64(i)
			b, size = connector.Box{X0: x, Y0: y, X1: x + setSize*breadth(text), Y1: y + setSize}, setSize
		}
		out.Runs = append(out.Runs, pagelayout.Run{Text: text, Box: b, Size: size})
	}
	return unplaced
}

// breadth is about how broad a text is, in ems.
func breadth(s string) float64 {
	n := 0.0
	for _, r := range s {
		if r >= 0x2E80 && unicode.IsPrint(r) {
			n++
		} else {
			n += 0.5
		}
	}
	return n
}
