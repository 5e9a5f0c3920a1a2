package apiformat

import "testing"

func TestDetect(t *testing.T) {
	for name, c := range map[string]struct {
		name, head string
		want       Format
	}{
		"yaml":             {"a.yaml", "# x\nopenapi: 3.0.0\n", OpenAPI},
		"quoted":           {"a.yml", "\"swagger\" : '2.0'\n", OpenAPI},
		"json":             {"a.json", " {\n\"info\": {\"swagger\": 1}, \"openapi\": \"3.1.0\"", OpenAPI},
		"sorted json":      {"a.json", `{"components": {"schemas": {"A": {`, OpenAPI},
		"sorted yaml":      {"a.yaml", "components:\n  schemas:\n    A:\n", OpenAPI},
		"schema":           {"a.json", `{"$schema": "http://json-schema.org/draft-07/schema#"}`, JSONSchema},
		"yaml schema":      {"a.yaml", "$schema: https://json-schema.org/draft/2020-12/schema\n", JSONSchema},
		"graphql":          {"a.gql", "type A { b: C }", GraphQL},
		"proto":            {"x/a.proto", "", Protobuf},
		"nested key":       {"a.json", `{"a": {"openapi": "3.0.0"}}`, None},
		"key in a value":   {"a.json", `{"a": "openapi", "b": "3.0.0", "c": ["openapi"]}`, None},
		"indented key":     {"a.yaml", "a:\n  openapi: 3.0.0\n", None},
		"a settings file":  {"tsconfig.json", `{"$schema": "https://json.schemastore.org/tsconfig"}`, None},
		"kubernetes":       {"a.yaml", "apiVersion: v1\nkind: Pod\n", None},
		"asyncapi":         {"a.yaml", "asyncapi: 3.0.0\n", None},
		"openapi in prose": {"a.md", "openapi: 3.0.0\n", None},
		"no version":       {"a.yaml", "openapi: true\n", None},
		"empty":            {"a.yaml", "", None},
	} {
		if got := Detect(c.name, []byte(c.head)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
