package convert

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kbsync/kbsync/connector"
)

// MineruConfig is the configuration of mineru.
type MineruConfig struct {
	Service  `yaml:",inline"`
	OCR      string            `yaml:"ocr" enum:"auto,off,force" doc:"whether pages are read as pictures, of the backend pipeline"`
	Language string            `yaml:"language" doc:"the language of the OCR, as MinerU names it; empty: the service's own choice (Chinese and English)"`
	Options  map[string]string `yaml:"options" doc:"further fields of the request, such as backend: pipeline"`
}

// Validate checks the configuration.
func (c *MineruConfig) Validate() error {
	if err := c.Service.Validate(); err != nil {
		return err
	}
	return reserved(c.Options, "files", "return_md", "response_format_zip", "parse_method", "lang_list")
}

// Mineru is the registry entry of MinerU's server (mineru-api): POST /file_parse, answered with Markdown.
func Mineru() connector.ParserPlugin {
	cfg := MineruConfig{Service: serviceDefaults("http://localhost:8000"), OCR: "auto"}
	return connector.Define("mineru", "PDF files and pictures read by MinerU", cfg,
		func(ctx context.Context, c *MineruConfig, env connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("mineru: %w", err)
			}
			methods := map[string]string{"off": "txt", "force": "ocr"}
			method, ok := methods[c.OCR]
			if !ok {
				method = "auto"
			}
			fields := []field{{"return_md", "true"}, {"response_format_zip", "false"}, {"parse_method", method}}
			if c.Language != "" {
				fields = append(fields, field{"lang_list", c.Language})
			}
			return openService(ctx, api{kind: "mineru", auth: "Authorization", method: "POST", path: "/file_parse", file: "files",
				fields: append(fields, sorted(c.Options)...), header: map[string]string{"Accept": "application/json"}, output: "markdown", spoiled: true,
				text: mineruText}, &c.Service, env)
		})
}

// mineruText reads an answer of MinerU: one document, under its name.
func mineruText(body []byte) ([]byte, []string, error) {
	var a struct {
		Results map[string]struct {
			Markdown *string `json:"md_content"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, nil, malformed("%v", err)
	}
	if len(a.Results) != 1 {
		return nil, nil, malformed("it has %d results for one document", len(a.Results))
	}
	for _, r := range a.Results {
		if r.Markdown != nil {
			return []byte(*r.Markdown), nil, nil
		}
	}
	return nil, nil, noText()
}
