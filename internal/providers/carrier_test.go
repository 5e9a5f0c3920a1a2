package providers

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kbsync/kbsync/connector"
)

// TestRefusedContent: what a text says is refused for that text alone, and told apart from every other refusal.
func TestRefusedContent(t *testing.T) {
	f := NewFaults(&Spec{Provider: "p", Config: Config{Model: "m", APIKey: "sk-0123456789abcdef"}, Wrong: "check this and that"}, "host")
	for _, c := range []struct {
		body    string
		class   connector.Class
		content bool
	}{
		{`{"error":{"message":"filtered, sk-0123456789abcdef","code":"content_filter","param":"prompt"}}`, connector.ClassInvalid, true},
		{`{"code":"DataInspectionFailed","message":"Input data may contain inappropriate content."}`, connector.ClassInvalid, true},
		{`{"error":{"code":"1301","message":"系统检测到输入或生成内容可能包含不安全或敏感内容"}}`, connector.ClassInvalid, true},
		{`{"error":{"message":"no","param":"response_format"}}`, connector.ClassUnsupported, false},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}`, connector.ClassDenied, false},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, connector.ClassInvalid, false},
	} {
		_, err := f.Read(&http.Response{StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader(c.body))}, 1<<20)
		if connector.ClassOf(err) != c.class || errors.Is(err, ErrContent) != c.content {
			t.Errorf("%s: %v, %v, content %t", c.body, connector.ClassOf(err), err, errors.Is(err, ErrContent))
		}
		if strings.Contains(err.Error(), "0123456789") {
			t.Errorf("the key shows: %v", err)
		}
		if c.class == connector.ClassUnsupported && !strings.Contains(err.Error(), "check this and that") {
			t.Errorf("the advice is that of an embedder: %v", err)
		}
	}
}
