package convert

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// DoclingConfig is the configuration of docling-serve.
type DoclingConfig struct {
	Service   `yaml:",inline"`
	OCR       string            `yaml:"ocr" enum:"auto,off,force" doc:"whether pictures in pages are read; force reads every page anew, whatever text it has"`
	Languages []string          `yaml:"languages" doc:"the languages of the OCR, as its engine names them"`
	Partial   bool              `yaml:"partial" doc:"take a document that was converted in part, with a dropped element that says so; else it is an error"`
	Options   map[string]string `yaml:"options" doc:"further fields of the request, such as table_mode: accurate"`
}

// Validate checks the configuration.
func (c *DoclingConfig) Validate() error {
	if err := c.Service.Validate(); err != nil {
		return err
	}
	return reserved(c.Options, "files", "to_formats", "target_type", "image_export_mode", "do_ocr", "force_ocr", "ocr_lang")
}

// Docling is the registry entry of docling-serve: POST /v1/convert/file, answered with Markdown.
func Docling() connector.ParserPlugin {
	cfg := DoclingConfig{Service: serviceDefaults("http://localhost:5001"), OCR: "auto"}
	return connector.Define("docling-serve", "Documents read by docling-serve", cfg,
		func(ctx context.Context, c *DoclingConfig, env connector.Env) (connector.Parser, error) {
			if err := c.Validate(); err != nil {
				return nil, fmt.Errorf("docling-serve: %w", err)
			}
			fields := []field{{"to_formats", "md"}, {"image_export_mode", "placeholder"}}
			switch c.OCR {
			case "off":
				fields = append(fields, field{"do_ocr", "false"})
			case "force":
				fields = append(fields, field{"do_ocr", "true"}, field{"force_ocr", "true"})
			default:
				fields = append(fields, field{"do_ocr", "true"})
			}
			for _, l := range c.Languages {
				fields = append(fields, field{"ocr_lang", l})
			}
			return openService(ctx, api{kind: "docling-serve", auth: "X-Api-Key", method: "POST", path: "/v1/convert/file", file: "files",
				fields: append(fields, sorted(c.Options)...), header: map[string]string{"Accept": "application/json"}, output: "markdown",
				text: doclingText(c.Partial)}, &c.Service, env)
		})
}

// doclingText reads an answer of docling-serve. One that was converted in part is an error, unless partial.
func doclingText(partial bool) func([]byte) ([]byte, []string, error) {
	return func(body []byte) ([]byte, []string, error) {
		var a struct {
			Document *struct {
				Markdown *string `json:"md_content"`
			} `json:"document"`
			Status string            `json:"status"`
			Errors []json.RawMessage `json:"errors"`
		}
		if err := json.Unmarshal(body, &a); err != nil {
			return nil, nil, malformed("%v", err)
		}
		said := make([]string, 0, len(a.Errors))
		for _, e := range a.Errors {
			var m struct {
				Message string `json:"error_message"`
			}
			if json.Unmarshal(e, &m) != nil || m.Message == "" {
				m.Message = string(e)
			}
			said = append(said, m.Message)
		}
		why := shorten(strings.Join(said, "; "))
		var left []string
		switch {
		case a.Status == "partial_success" && partial:
			left = []string{"docling converted the document in part: " + why}
		case a.Status == "partial_success":
			return nil, nil, connector.Errorf(connector.ClassInvalid, "docling converted the document in part: %s; partial: true takes what there is", why)
		case a.Status == "failure" || a.Status == "skipped":
			return nil, nil, connector.Errorf(connector.ClassInvalid, "docling could not convert the document (%s): %s", a.Status, why)
		case a.Status != "success" || a.Document == nil:
			return nil, nil, malformed("it has no document, or the status %q", shorten(a.Status))
		}
		if a.Document == nil || a.Document.Markdown == nil {
			return nil, left, noText()
		}
		return []byte(*a.Document.Markdown), left, nil
	}
}

// sorted are the options as fields, by name.
func sorted(options map[string]string) []field {
	var out []field
	for _, name := range slices.Sorted(maps.Keys(options)) {
		out = append(out, field{name, options[name]})
	}
	return out
}

// reserved refuses options that this package sets itself.
func reserved(options map[string]string, own ...string) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if name == "" || slices.Contains(own, name) {
			return fmt.Errorf("options: %q is set by the parser itself, by its other keys", name)
		}
	}
	return nil
}
