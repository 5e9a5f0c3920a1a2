package providerstest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// Fault is one way in which an answer goes wrong, and what must come of it.
type Fault struct {
	Name string
	// Class of the error; where it is ClassUnknown the answer must be taken all the same.
	Class connector.Class
	// Wait that the error carries.
	Wait time.Duration
	// Item says that the text at Spoilt alone is refused, with the class, and all others have their vectors.
	Item bool
	// Message parts that the error must have.
	Message []string
	// Indexed faults make no sense where answers have no index.
	Indexed bool

	answer func(s *Server, w http.ResponseWriter, r *http.Request)
	spoil  func([]Vec) []Vec
	bytes  func(w http.ResponseWriter, body []byte) []byte
}

// Spoilt is the text that faults of one item hit.
const Spoilt = 1

// Faults are all of them.
func Faults() []Fault {
	return slices.Concat(refusals(), broken(), spoilt())
}

// refuse answers with a status, headers (name, value …) and a body.
func refuse(status int, body string, headers ...string) func(*Server, http.ResponseWriter, *http.Request) {
	return func(s *Server, w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		body := strings.ReplaceAll(body, "KEY", s.wire.Key(r.Header))
		_, _ = w.Write([]byte(body))
	}
}

func refusals() []Fault {
	throttled, denied, transient := connector.ClassThrottled, connector.ClassDenied, connector.ClassTransient
	return []Fault{
		{Name: "429", Class: throttled, answer: refuse(429, `{"error":{"message":"slow down"}}`)},
		{Name: "429 with seconds", Class: throttled, Wait: 2 * time.Second, answer: refuse(429, `{}`, "Retry-After", "2")},
		{Name: "429 with milliseconds", Class: throttled, Wait: 150 * time.Millisecond, answer: refuse(429, ``, "Retry-After-Ms", "150")},
		{Name: "429 with a reset", Class: throttled, Wait: 6 * time.Minute, answer: refuse(429, ``,
			"X-Ratelimit-Reset-Tokens", "6m0s", "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Requests", "20ms", "X-Ratelimit-Remaining-Requests", "9")},
		{Name: "429 with RetryInfo", Class: throttled, Wait: 34 * time.Second, answer: refuse(429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED",
			"message":"You exceeded your current quota","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`)},
		{Name: "no quota left", Class: denied, Message: []string{"no credit"}, answer: refuse(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`)},
		{Name: "402", Class: denied, answer: refuse(402, `{"message":"pay first"}`)},
		{Name: "503 with seconds", Class: throttled, Wait: 7 * time.Second, answer: refuse(503, `busy`, "Retry-After", "7")},
		{Name: "401 echoes the key", Class: denied, Message: []string{"check api_key", "***"}, answer: refuse(401, `{"error":{"message":"Incorrect API key provided: KEY."}}`)},
		{Name: "403 shows the key's ends", Class: denied, Message: []string{"***"}, answer: refuse(403, `{"error":{"message":"key `+Key[:8]+`****`+Key[len(Key)-4:]+` may not"}}`)},
		{Name: "400 for a bad key", Class: denied, answer: refuse(400, `{"error":{"code":400,"message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}`)},
		{Name: "404", Class: connector.ClassNotFound, answer: refuse(404, `{"error":"model \"m\" not found, try pulling it first"}`)},
		{Name: "400 for the model", Class: connector.ClassNotFound, answer: refuse(400, `{"error":{"message":"The model m does not exist","code":"model_not_found"}}`)},
		{Name: "413", Class: connector.ClassTooLarge, answer: refuse(413, `{"error":"batch size 33 > maximum allowed batch size 32","error_type":"Validation"}`)},
		{Name: "too many tokens in the request", Class: connector.ClassTooLarge,
			answer: refuse(400, `{"error":{"message":"Requested 300500 tokens, max 300000 tokens per request","type":"max_tokens_per_request","code":"max_tokens_per_request"}}`)},
		{Name: "too many tokens in the batch", Class: connector.ClassTooLarge, answer: refuse(400, `{"detail":"The max allowed tokens per submitted batch is 120000."}`)},
		{Name: "a long text", Class: connector.ClassInvalid, answer: refuse(400, `{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 9000"}}`)},
		{Name: "a long text, Ollama", Class: connector.ClassInvalid, answer: refuse(500, `{"error":"the input length exceeds the context length"}`)},
		{Name: "a long text, TEI", Class: connector.ClassInvalid, answer: refuse(422, "{\"error\":\"Input validation error: `inputs` must have less than 512 tokens. Given: 534\",\"error_type\":\"Validation\"}")},
		{Name: "400 of another kind", Class: connector.ClassInvalid, answer: refuse(400, `{"message":"invalid request"}`)},
		{Name: "400 for the dimensions", Class: connector.ClassUnsupported, Message: []string{"check model and dimensions"},
			answer: refuse(400, `{"error":{"message":"Model m does not support matryoshka representation","param":"dimensions"}}`)},
		{Name: "422 of FastAPI", Class: connector.ClassUnsupported, answer: refuse(422, `{"detail":[{"loc":["body","task"],"msg":"not a task"}]}`)},
		{Name: "408", Class: transient, answer: refuse(408, ``)},
		{Name: "409", Class: transient, answer: refuse(409, ``)},
		{Name: "424", Class: transient, answer: refuse(424, `{"error":"backend"}`)},
		{Name: "500", Class: transient, answer: refuse(500, `{"error":{"message":"internal"}}`)},
		{Name: "500, took too long", Class: transient, answer: refuse(500, `{"error":"the request took too long"}`)},
		{Name: "no embedding model", Class: connector.ClassUnsupported, answer: refuse(400, `{"error":"this model does not support embeddings"}`)},
		{Name: "502 with a web page", Class: transient, answer: refuse(502, `<html><body>Bad Gateway KEY</body></html>`)},
		{Name: "529", Class: transient, answer: refuse(529, ``)},
		{Name: "redirect", Class: connector.ClassUnsupported, Message: []string{"set base_url"}, answer: func(s *Server, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, s.Other.URL, http.StatusTemporaryRedirect)
		}},
	}
}

func broken() []Fault {
	return []Fault{
		{Name: "slow", Class: connector.ClassTransient, Message: []string{"raise timeout"}, answer: func(_ *Server, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{Name: "slow in the middle", Class: connector.ClassTransient, answer: func(_ *Server, w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"`))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}},
		{Name: "cut before the answer", Class: connector.ClassTransient, answer: func(*Server, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{Name: "cut in the middle", Class: connector.ClassTransient, bytes: func(w http.ResponseWriter, body []byte) []byte {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			return body[:len(body)/2]
		}},
		{Name: "truncated JSON", Class: connector.ClassTransient, bytes: func(_ http.ResponseWriter, body []byte) []byte { return body[:len(body)/2] }},
		{Name: "nothing", Class: connector.ClassTransient, bytes: func(http.ResponseWriter, []byte) []byte { return nil }},
		{Name: "a web page", Class: connector.ClassUnsupported, Message: []string{"web page", "base_url"}, answer: refuse(200, "<!doctype html><p>Sign in</p>")},
		{Name: "another shape", Class: connector.ClassUnsupported, answer: refuse(200, `["no","object"]`)},
		{Name: "an error with status 200", Class: connector.ClassTransient, answer: refuse(200, `{"error":{"message":"overloaded"}}`)},
		{Name: "huge", Class: connector.ClassUnsupported, Message: []string{"more than"}, bytes: func(_ http.ResponseWriter, body []byte) []byte {
			return append(bytes.Repeat([]byte(" "), 8<<20), body...)
		}},
		{Name: "a bomb", Class: connector.ClassUnsupported, bytes: func(w http.ResponseWriter, body []byte) []byte {
			return squeeze(w, append(bytes.Repeat([]byte(" "), 8<<20), body...))
		}},
		{Name: "endless", Class: connector.ClassUnsupported, answer: func(_ *Server, w http.ResponseWriter, _ *http.Request) {
			for err := error(nil); err == nil; {
				_, err = w.Write(bytes.Repeat([]byte(" "), 1<<16))
			}
		}},
		{Name: "gzip", bytes: squeeze},
	}
}

func squeeze(w http.ResponseWriter, body []byte) []byte {
	w.Header().Set("Content-Encoding", "gzip")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body)
	_ = z.Close()
	return b.Bytes()
}

func spoilt() []Fault {
	value := func(change func(v []float32)) func([]Vec) []Vec {
		return func(all []Vec) []Vec {
			change(all[Spoilt].Values)
			return all
		}
	}
	nan := func(word string) func(http.ResponseWriter, []byte) []byte {
		return func(_ http.ResponseWriter, body []byte) []byte {
			return bytes.ReplaceAll(body, []byte(fmt.Sprint(mark)), []byte(word))
		}
	}
	return []Fault{
		{Name: "wrong order", Indexed: true, spoil: func(all []Vec) []Vec { slices.Reverse(all); return all }},
		{Name: "one too few", Class: connector.ClassTransient, spoil: func(all []Vec) []Vec { return all[1:] }},
		{Name: "one too many", Class: connector.ClassTransient, spoil: func(all []Vec) []Vec { return append(all, Vec{Index: len(all), Values: all[0].Values}) }},
		{Name: "an index twice", Class: connector.ClassTransient, Indexed: true, spoil: func(all []Vec) []Vec { all[Spoilt].Index = 0; return all }},
		{Name: "an index out of range", Class: connector.ClassTransient, Indexed: true, spoil: func(all []Vec) []Vec { all[Spoilt].Index = -1; return all }},
		{Name: "other dimensions", Class: connector.ClassConflict, Message: []string{"dimensions"}, spoil: func(all []Vec) []Vec { all[Spoilt].Values = all[Spoilt].Values[1:]; return all }},
		{Name: "an empty vector", Class: connector.ClassConflict, spoil: func(all []Vec) []Vec { all[Spoilt].Values = []float32{}; return all }},
		{Name: "zero", Class: connector.ClassInvalid, Item: true, Message: []string{"zero"}, spoil: value(func(v []float32) { clear(v) })},
		{Name: "NaN", Class: connector.ClassInvalid, Item: true, Message: []string{"finite"}, spoil: value(func(v []float32) { v[2] = mark }), bytes: nan("NaN")},
		{Name: "Infinity", Class: connector.ClassInvalid, Item: true, Message: []string{"finite"}, spoil: value(func(v []float32) { v[0] = mark }), bytes: nan("-Infinity")},
		{Name: "null", Class: connector.ClassInvalid, Item: true, spoil: value(func(v []float32) { v[len(v)-1] = mark }), bytes: nan("null")},
		{Name: "out of range", Class: connector.ClassInvalid, Item: true, spoil: value(func(v []float32) { v[0] = mark }), bytes: nan("1e999")},
	}
}
