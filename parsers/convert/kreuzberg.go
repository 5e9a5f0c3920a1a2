package convert

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// KreuzbergConfig is the configuration of kreuzberg.
type KreuzbergConfig struct {
	Service   `yaml:",inline"`
	Output    string   `yaml:"output" enum:"markdown,text,html" doc:"what is asked for, and the parser that reads it; text for servers that know no other form"`
	OCR       string   `yaml:"ocr" enum:"auto,force" doc:"force reads every page as a picture, whatever text it has"`
	Languages []string `yaml:"languages" doc:"the languages of the OCR, as Tesseract names them: [eng, chi_sim]"`
}

// Kreuzberg is the registry entry of Kreuzberg's server, version 4: POST /extract, answered with JSON.
func Kreuzberg() connector.ParserPlugin {
	cfg := KreuzbergConfig{Service: serviceDefaults("http://localhost:8000"), Output: "markdown", OCR: "auto"}
	return connector.Define("kreuzberg", "Documents read by a Kreuzberg server", cfg,
		func(ctx context.Context, c *KreuzbergConfig, env connector.Env) (connector.Parser, error) {
			request := map[string]any{}
			if c.Output != "text" {
				request["output_format"] = c.Output
			}
			if c.OCR == "force" {
				request["force_ocr"] = true
			}
			if len(c.Languages) > 0 {
				request["ocr"] = map[string]any{"backend": "tesseract", "language": strings.Join(c.Languages, "+")}
			}
			var fields []field
			if len(request) > 0 {
				b, err := json.Marshal(request)
				if err != nil {
					return nil, fmt.Errorf("kreuzberg: %w", err)
				}
				fields = []field{{"config", string(b)}}
			}
			return openService(ctx, api{kind: "kreuzberg", auth: "Authorization", method: "POST", path: "/extract", file: "files",
				fields: fields, header: map[string]string{"Accept": "application/json"}, output: c.Output, text: kreuzbergText}, &c.Service, env)
		})
}

// kreuzbergText reads an answer of Kreuzberg: a list with one result.
func kreuzbergText(body []byte) ([]byte, []string, error) {
	var results []struct {
		Content *string `json:"content"`
	}
	if err := json.Unmarshal(body, &results); err != nil {
		return nil, nil, malformed("%v", err)
	}
	if len(results) != 1 || results[0].Content == nil {
		return nil, nil, malformed("it has %d results for one document", len(results))
	}
	return []byte(*results[0].Content), nil, nil
}
