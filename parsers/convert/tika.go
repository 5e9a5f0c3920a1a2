package convert

import (
	"context"
	"strings"

	"github.com/kbsync/kbsync/connector"
)

// TikaConfig is the configuration of tika.
type TikaConfig struct {
	Service   `yaml:",inline"`
	OCR       string   `yaml:"ocr" enum:"auto,off,force" doc:"whether pictures and scanned pages are read, where the server has Tesseract"`
	Languages []string `yaml:"languages" doc:"the languages of the OCR, as Tesseract names them: [eng, chi_sim]"`
}

// Tika is the registry entry of Apache Tika's server: PUT /tika, answered with HTML.
func Tika() connector.ParserPlugin {
	cfg := TikaConfig{Service: serviceDefaults("http://localhost:9998"), OCR: "auto"}
	return connector.Define("tika", "Documents read by an Apache Tika server", cfg,
		func(ctx context.Context, c *TikaConfig, env connector.Env) (connector.Parser, error) {
			header := map[string]string{"Accept": "text/html"}
			switch c.OCR {
			case "off":
				header["X-Tika-PDFOcrStrategy"], header["X-Tika-OCRskipOcr"] = "no_ocr", "true"
			case "force":
				header["X-Tika-PDFOcrStrategy"] = "ocr_only"
			}
			if len(c.Languages) > 0 {
				header["X-Tika-OCRLanguage"] = strings.Join(c.Languages, "+")
			}
			return openService(ctx, api{kind: "tika", auth: "Authorization", method: "PUT", path: "/tika", header: header, output: "html", spoiled: true,
				text: func(body []byte) ([]byte, []string, error) { return body, nil, nil }}, &c.Service, env)
		})
}
