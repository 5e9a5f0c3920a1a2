package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// Wire is the wire format of one kind of service: how it is asked and how it answers.
type Wire struct {
	Name    string
	headers map[string]string
	path    func(model string) string
	key     func(http.Header) string
	read    func(body []byte) (Call, error)
	write   func(Reply) (status int, body []byte)
}

// strict decodes a request; a key that the service does not know is an error there.
func strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// object is JSON in the making.
type object map[string]any

func encoded(v any) []byte {
	raw, _ := json.Marshal(v) //nolint:errchkjson // maps and strings alone
	return raw
}

// blocked are the refusals of a request.
func blocked() []byte {
	return encoded(object{"error": object{"message": "The prompt was filtered by the content management policy.", "type": "invalid_request_error", "param": "prompt", "code": "content_filter"}})
}

// OpenAI is the wire of chat completions.
func OpenAI() Wire {
	return Wire{
		Name: "openai",
		path: func(string) string { return "/chat/completions" },
		key:  func(h http.Header) string { return strings.TrimPrefix(h.Get("Authorization"), "Bearer ") },
		read: readOpenAI,
		write: func(r Reply) (int, []byte) {
			if r.Blocked {
				return http.StatusBadRequest, blocked()
			}
			finish := map[connector.Finish]string{connector.FinishStop: "stop", connector.FinishLength: "length", connector.FinishRefused: "content_filter"}[r.Finish]
			return http.StatusOK, encoded(object{
				"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "test-model",
				"choices": []any{object{"index": 0, "message": object{"role": "assistant", "content": r.Text, "refusal": nil}, "logprobs": nil, "finish_reason": finish}},
				"usage":   object{"prompt_tokens": r.In, "completion_tokens": r.Out, "total_tokens": r.In + r.Out},
			})
		},
	}
}

func readOpenAI(body []byte) (Call, error) {
	var b struct {
		Model       string                           `json:"model"`
		Messages    []struct{ Role, Content string } `json:"messages"`
		Temperature *float64                         `json:"temperature"`
		Seed        *int                             `json:"seed"`
		MaxTokens   int                              `json:"max_tokens"`
		MaxAll      int                              `json:"max_completion_tokens"`
		Effort      string                           `json:"reasoning_effort"`
		Format      *struct {
			Type   string `json:"type"`
			Schema *struct {
				Name   string          `json:"name"`
				Strict bool            `json:"strict"`
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := strict(body, &b); err != nil {
		return Call{}, err
	}
	c := Call{Model: b.Model, Temperature: b.Temperature, MaxTokens: max(b.MaxTokens, b.MaxAll)}
	for _, m := range b.Messages {
		switch m.Role {
		case "system":
			c.System = m.Content
		case "user":
			c.User = m.Content
		default:
			return c, errors.New("a message of role " + m.Role)
		}
	}
	if b.Format == nil {
		return c, nil
	}
	c.JSON = true
	switch s := b.Format.Schema; b.Format.Type {
	case "json_object":
		if !strings.Contains(c.System+c.User, "JSON") {
			return c, errors.New("'messages' must contain the word 'json' to use 'response_format' of type 'json_object'")
		}
	case "json_schema":
		if s == nil || s.Name == "" || !strings.Contains(string(s.Schema), `"additionalProperties":false`) {
			return c, errors.New("a strict schema needs a name and no further properties")
		}
		c.Schema = s.Schema
	default:
		return c, errors.New("response_format " + b.Format.Type)
	}
	return c, nil
}

// Anthropic is the wire of the Messages API.
func Anthropic() Wire {
	return Wire{
		Name:    "anthropic",
		headers: map[string]string{"Anthropic-Version": "2023-06-01"},
		path:    func(string) string { return "/messages" },
		key:     func(h http.Header) string { return h.Get("X-Api-Key") },
		read:    readAnthropic,
		write: func(r Reply) (int, []byte) {
			stop := map[connector.Finish]string{connector.FinishStop: "end_turn", connector.FinishLength: "max_tokens", connector.FinishRefused: "refusal"}[r.Finish]
			content := []any{object{"type": "text", "text": r.Text}}
			var input map[string]any
			switch {
			case r.Blocked:
				stop, content = "refusal", []any{}
			case r.Finish == connector.FinishStop && json.Unmarshal([]byte(r.Text), &input) == nil:
				stop, content = "tool_use", []any{object{"type": "text", "text": "Here you are."}, object{"type": "tool_use", "id": "toolu_1", "name": "answer", "input": json.RawMessage(r.Text)}}
			}
			return http.StatusOK, encoded(object{
				"id": "msg_1", "type": "message", "role": "assistant", "model": "test-model", "content": content, "stop_reason": stop, "stop_sequence": nil,
				"usage": object{"input_tokens": r.In, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": r.Out},
			})
		},
	}
}

func readAnthropic(body []byte) (Call, error) {
	var b struct {
		Model       string                           `json:"model"`
		MaxTokens   int                              `json:"max_tokens"`
		Temperature *float64                         `json:"temperature"`
		System      string                           `json:"system"`
		Messages    []struct{ Role, Content string } `json:"messages"`
		Tools       []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"input_schema"`
		} `json:"tools"`
		Choice struct{ Type, Name string } `json:"tool_choice"`
	}
	if err := strict(body, &b); err != nil {
		return Call{}, err
	}
	c := Call{Model: b.Model, Temperature: b.Temperature, MaxTokens: b.MaxTokens, System: b.System}
	if len(b.Messages) != 1 || b.Messages[0].Role != "user" {
		return c, errors.New("the messages are not one of the user")
	}
	c.User = b.Messages[0].Content
	if len(b.Tools) > 0 {
		if b.Choice.Type != "tool" || b.Choice.Name != b.Tools[0].Name || b.Choice.Name == "" {
			return c, errors.New("the tool is not one that must be used")
		}
		c.JSON, c.Schema = true, b.Tools[0].Schema
	}
	return c, nil
}

// Gemini is the wire of generateContent.
func Gemini() Wire {
	return Wire{
		Name: "gemini",
		path: func(model string) string { return "/models/" + model + ":generateContent" },
		key:  func(h http.Header) string { return h.Get("X-Goog-Api-Key") },
		read: readGemini,
		write: func(r Reply) (int, []byte) {
			usage := object{"promptTokenCount": r.In, "candidatesTokenCount": r.Out, "totalTokenCount": r.In + r.Out}
			if r.Blocked {
				return http.StatusOK, encoded(object{"promptFeedback": object{"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage})
			}
			finish := map[connector.Finish]string{connector.FinishStop: "STOP", connector.FinishLength: "MAX_TOKENS", connector.FinishRefused: "SAFETY"}[r.Finish]
			parts := []any{object{"text": "a thought", "thought": true}, object{"text": r.Text}}
			return http.StatusOK, encoded(object{"candidates": []any{object{"content": object{"role": "model", "parts": parts}, "finishReason": finish, "index": 0}}, "usageMetadata": usage})
		},
	}
}

func readGemini(body []byte) (Call, error) {
	type content struct {
		Role  string
		Parts []struct{ Text string }
	}
	var b struct {
		System   *content  `json:"systemInstruction"`
		Contents []content `json:"contents"`
		Config   struct {
			Temperature *float64        `json:"temperature"`
			MaxTokens   int             `json:"maxOutputTokens"`
			Seed        *int            `json:"seed"`
			MimeType    string          `json:"responseMimeType"`
			Schema      json.RawMessage `json:"responseSchema"`
			Thinking    *struct {
				Budget int `json:"thinkingBudget"`
			} `json:"thinkingConfig"`
		} `json:"generationConfig"`
	}
	if err := strict(body, &b); err != nil {
		return Call{}, err
	}
	c := Call{Temperature: b.Config.Temperature, MaxTokens: b.Config.MaxTokens, Schema: b.Config.Schema, JSON: b.Config.MimeType == "application/json"}
	if b.System != nil && len(b.System.Parts) > 0 {
		c.System = b.System.Parts[0].Text
	}
	if len(b.Contents) != 1 || len(b.Contents[0].Parts) != 1 || b.Contents[0].Role != "user" {
		return c, errors.New("the contents are not one text of the user")
	}
	c.User = b.Contents[0].Parts[0].Text
	if strings.Contains(string(c.Schema), "additionalProperties") {
		return c, errors.New(`Unknown name "additionalProperties" at 'generation_config.response_schema'`)
	}
	return c, nil
}
