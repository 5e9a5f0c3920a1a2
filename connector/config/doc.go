// Package config reads kbsync.yaml: one or several YAML files become one checked [File], and every fault in them
// is reported at once with file, line, column, key path and what was expected.
//
// # Reading
//
// Files merge left to right: maps deeply, lists and scalars by replacement; an embedder or sink of another kind
// replaces the one before. Unknown keys, duplicate keys, wrong types and missing required values are errors. Aliases and merge
// keys (<<) work within limits that keep a small file from growing without bound; top-level keys that start with
// "x-" are ignored, so that anchors have a place to stand. A null value means "not given". A list of strings may be
// written as a single string.
//
// # Variables and secrets
//
// After parsing, ${VAR} and ${VAR:-default} expand inside string values (the default serves where the variable is unset or
// empty); $$ is a dollar, and a dollar before anything else stands for itself. What a variable holds is never expanded again. Where a
// number, a boolean, a duration or a size is expected, the expanded text is converted; everywhere else it is a
// string. Values of type [connector.Secret] may be written env:NAME or file:PATH; of a file's text one line end at its
// end is dropped. Secrets are printed nowhere: error messages never quote values, and [File.Show] masks secret fields, passwords in
// URLs and the values of variables that are named like a secret.
//
// # Struct tags
//
// Plugins describe their configuration with these tags, which decoder and JSON Schema share:
//
//	yaml:"name"        the key; ",inline" merges an embedded struct, "-" hides a field
//	doc:"one line"     the description
//	enum:"a,b"         the only values (of a string, or of a list's items)
//	format:"size"      an integer that may be written 64MiB, 10kB or 512
//	required:"true"    a value must be given
//
// Types may implement UnmarshalYAML(*yaml.Node) error or encoding.TextUnmarshaler; JSONSchema() map[string]any then
// describes what they accept.
package config
