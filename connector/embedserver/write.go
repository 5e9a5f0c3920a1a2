package embedserver

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
)

// write writes the answer piece by piece: vectors of a large request are many megabytes as text. A client that is gone is told nothing.
func write(w http.ResponseWriter, req *request, vectors [][]float32, tokens int) {
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 64<<10)
	_, _ = out.WriteString(`{"object":"list","data":[`)
	var buf []byte
	for i, v := range vectors {
		buf = buf[:0]
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, `{"object":"embedding","index":`...)
		buf = strconv.AppendInt(buf, int64(i), 10)
		buf = append(buf, `,"embedding":`...)
		if req.base64 {
			buf = appendBase64(buf, v)
		} else {
			buf = appendNumbers(buf, v)
		}
		buf = append(buf, '}')
		if _, err := out.Write(buf); err != nil {
			return
		}
	}
	name, _ := json.Marshal(req.model) // a string
	count := strconv.Itoa(tokens)
	_, _ = out.WriteString(`],"model":` + string(name) + `,"usage":{"prompt_tokens":` + count + `,"total_tokens":` + count + "}}\n")
	_ = out.Flush()
}

// appendBase64 writes little-endian 32-bit floats, as OpenAI does.
func appendBase64(buf []byte, v []float32) []byte {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	buf = append(buf, '"')
	buf = base64.StdEncoding.AppendEncode(buf, raw)
	return append(buf, '"')
}

// appendNumbers writes the shortest digits that give the very same 32-bit float back, also to a reader that goes by way of a 64-bit
// one, as Python does: for a few numbers the shortest digits lie so near to the middle between two floats that rounding twice takes
// the wrong one, and those get all digits of a 64-bit float.
func appendNumbers(buf []byte, v []float32) []byte {
	buf = append(buf, '[')
	for i, x := range v {
		if i > 0 {
			buf = append(buf, ',')
		}
		begin := len(buf)
		buf = strconv.AppendFloat(buf, float64(x), 'g', -1, 32)
		if back, err := strconv.ParseFloat(string(buf[begin:]), 64); err != nil || math.Float32bits(float32(back)) != math.Float32bits(x) {
			buf = strconv.AppendFloat(buf[:begin], float64(x), 'g', -1, 64)
		}
	}
	return append(buf, ']')
}
