// Package apiformat tells descriptions of interfaces from other data by their names and first bytes, for detection and for the parser that reads
// them.
package apiformat

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"strings"
)

// Format is a language that interfaces are described in.
type Format string

// The formats. None is what this package does not read.
const (
	None       Format = ""
	OpenAPI    Format = "openapi" // and Swagger 2
	JSONSchema Format = "jsonschema"
	GraphQL    Format = "graphql"
	Protobuf   Format = "protobuf"
)

// HeadSize is how much of a file [Detect] should be given, if not all of it.
const HeadSize = 16 << 10

// Detect tells the format of a file from its name and how it starts. A YAML or JSON file needs a key of its outermost
// mapping that only such a file has (openapi, swagger, $schema with a schema's address), or to start with the components
// of an OpenAPI file whose keys are sorted; others give [None].
func Detect(name string, head []byte) Format {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	switch strings.ToLower(path.Ext(name)) {
	case ".proto":
		return Protobuf
	case ".graphql", ".graphqls", ".gql":
		return GraphQL
	case ".json", ".yaml", ".yml", "":
		return dataFormat(head)
	}
	return None
}

// dataFormat looks at the keys of the outermost mapping of JSON or YAML.
func dataFormat(head []byte) Format {
	if trimmed := bytes.TrimLeft(head, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		return jsonFormat(string(trimmed))
	}
	if sortedYAML.Match(head) {
		return OpenAPI
	}
	for line := range bytes.Lines(head) {
		if m := yamlVersion.FindSubmatch(line); m != nil {
			return OpenAPI
		}
		if m := yamlSchema.Match(line); m {
			return JSONSchema
		}
	}
	return None
}

// What starts a line at the left margin.
var (
	yamlVersion = regexp.MustCompile(`^["']?(openapi|swagger)["']?[ \t]*:[ \t]+["']?[0-9]`)
	yamlSchema  = regexp.MustCompile(`^["']?\$schema["']?[ \t]*:[ \t]+["']?` + schemaAddress)
	jsonVersion = regexp.MustCompile(`^[0-9]`)
	jsonSchemas = regexp.MustCompile(`^` + schemaAddress)
)

// How a file starts whose keys are sorted, with its version far below.
var (
	sortedJSON = regexp.MustCompile(`^\{\s*"components"\s*:\s*\{\s*"` + componentGroup + `"\s*:\s*\{`)
	sortedYAML = regexp.MustCompile(`^(?:---\s*)?components\s*:\s*\n +` + componentGroup + `\s*:\s*\n`)
)

const componentGroup = `(?:schemas|parameters|responses|requestBodies|securitySchemes|headers|examples|links|callbacks|pathItems)`

const schemaAddress = `https?://json-schema\.org/[a-z0-9/-]*schema`

// jsonFormat reads the keys at depth one of the beginning of a JSON object.
func jsonFormat(head string) Format {
	if sortedJSON.MatchString(head) {
		return OpenAPI
	}
	d := json.NewDecoder(strings.NewReader(head))
	depth, key := 0, ""
	for {
		token, err := d.Token()
		if err != nil { // no JSON, or the end of the head
			return None
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				depth++
			} else {
				depth--
			}
			if depth == 1 {
				key = ""
			}
		case string:
			switch {
			case depth != 1:
			case key == "":
				key = t
			case (key == "openapi" || key == "swagger") && jsonVersion.MatchString(t):
				return OpenAPI
			case key == "$schema" && jsonSchemas.MatchString(t):
				return JSONSchema
			default:
				key = ""
			}
		default:
			if depth == 1 {
				key = ""
			}
		}
	}
}
