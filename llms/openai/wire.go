package openai

import (
	"encoding/json"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/chats"
)

// body is that of POST /chat/completions.
type body struct {
	Model       string    `json:"model"`
	Messages    []message `json:"messages"`
	Temperature *int      `json:"temperature,omitempty"`
	Seed        *int      `json:"seed,omitempty"`
	MaxTokens   int       `json:"max_tokens,omitempty"`
	MaxAll      int       `json:"max_completion_tokens,omitempty"` // hidden reasoning included
	Effort      string    `json:"reasoning_effort,omitempty"`
	Format      *format   `json:"response_format,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type format struct {
	Type   string  `json:"type"`
	Schema *schema `json:"json_schema,omitempty"`
}

type schema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

func (c *Config) encode(s service, r connector.LLMRequest) body {
	b := body{Model: c.Model, Effort: c.Effort}
	if reasons(c.Model) {
		b.MaxAll = r.MaxTokens
	} else {
		b.MaxTokens, b.Temperature = r.MaxTokens, new(int)
	}
	if !s.seedless {
		b.Seed = &r.Seed
	}
	system := r.System
	if len(r.Schema) > 0 {
		switch c.JSON {
		case bySchema:
			b.Format = &format{Type: "json_schema", Schema: &schema{Name: r.Name, Strict: true, Schema: r.Schema}}
		case asObject:
			b.Format = &format{Type: "json_object"} // which OpenAI and DashScope refuse unless a message says "JSON"
			fallthrough
		default:
			system = strings.TrimSpace(system + "\n\nAnswer with one JSON object of this JSON Schema, and nothing else:\n" + string(r.Schema))
		}
	}
	if system != "" {
		b.Messages = append(b.Messages, message{"system", system})
	}
	b.Messages = append(b.Messages, message{"user", r.User})
	return b
}

// said is the content of a message: text, null, or a list of parts.
type said string

// UnmarshalJSON reads all three.
func (s *said) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		var parts []struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			*s += said(p.Text)
		}
		return nil
	}
	return json.Unmarshal(b, (*string)(s))
}

func decode(body []byte) (connector.LLMAnswer, error) {
	var a struct {
		Choices []struct {
			Message struct {
				Content said   `json:"content"`
				Refusal string `json:"refusal"`
			} `json:"message"`
			Finish string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			In  int `json:"prompt_tokens"`
			Out int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return connector.LLMAnswer{}, err
	}
	if len(a.Choices) == 0 {
		return connector.LLMAnswer{}, chats.ErrNoAnswer
	}
	c := a.Choices[0]
	answer := connector.LLMAnswer{Text: string(c.Message.Content), TokensIn: a.Usage.In, TokensOut: a.Usage.Out}
	switch c.Finish {
	case "length":
		answer.Finish = connector.FinishLength
	case "content_filter", "sensitive": // the latter is Zhipu's
		answer.Finish = connector.FinishRefused
	case "insufficient_system_resource": // DeepSeek's
		return connector.LLMAnswer{}, connector.Errorf(connector.ClassTransient, "the service broke off for lack of resources")
	case "network_error": // Zhipu's
		return connector.LLMAnswer{}, connector.Errorf(connector.ClassTransient, "the model failed within the service (network_error)")
	}
	if c.Message.Refusal != "" {
		answer.Finish = connector.FinishRefused
		if answer.Text == "" {
			answer.Text = c.Message.Refusal
		}
	}
	return answer, nil
}
