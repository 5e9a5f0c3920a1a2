//go:build cgo

package code

import (
	kotlin "github.com/tree-sitter-grammars/tree-sitter-kotlin/bindings/go"
	lua "github.com/tree-sitter-grammars/tree-sitter-lua/bindings/go"
	toml "github.com/tree-sitter-grammars/tree-sitter-toml/bindings/go"
	yaml "github.com/tree-sitter-grammars/tree-sitter-yaml/bindings/go"
	bash "github.com/tree-sitter/tree-sitter-bash/bindings/go"
	csharp "github.com/tree-sitter/tree-sitter-c-sharp/bindings/go"
	c "github.com/tree-sitter/tree-sitter-c/bindings/go"
	cpp "github.com/tree-sitter/tree-sitter-cpp/bindings/go"
	css "github.com/tree-sitter/tree-sitter-css/bindings/go"
	golang "github.com/tree-sitter/tree-sitter-go/bindings/go"
	haskell "github.com/tree-sitter/tree-sitter-haskell/bindings/go"
	html "github.com/tree-sitter/tree-sitter-html/bindings/go"
	java "github.com/tree-sitter/tree-sitter-java/bindings/go"
	javascript "github.com/tree-sitter/tree-sitter-javascript/bindings/go"
	json "github.com/tree-sitter/tree-sitter-json/bindings/go"
	php "github.com/tree-sitter/tree-sitter-php/bindings/go"
	python "github.com/tree-sitter/tree-sitter-python/bindings/go"
	ruby "github.com/tree-sitter/tree-sitter-ruby/bindings/go"
	rust "github.com/tree-sitter/tree-sitter-rust/bindings/go"
	scala "github.com/tree-sitter/tree-sitter-scala/bindings/go"
	typescript "github.com/tree-sitter/tree-sitter-typescript/bindings/go"
)

// grammars are the languages of this build, by the name that go-enry gives them, in lower case.
func grammars() map[string]grammar {
	return map[string]grammar{
		"go":         {pointer: golang.Language, rules: goRules},
		"python":     {pointer: python.Language, rules: pythonRules},
		"javascript": {pointer: javascript.Language, rules: scriptRules},
		"typescript": {pointer: typescript.LanguageTypescript, rules: scriptRules},
		"tsx":        {pointer: typescript.LanguageTSX, rules: scriptRules},
		"java":       {pointer: java.Language, rules: javaRules},
		"c":          {pointer: c.Language, rules: cRules},
		"c++":        {pointer: cpp.Language, rules: cRules},
		"c#":         {pointer: csharp.Language, rules: csharpRules},
		"rust":       {pointer: rust.Language, rules: rustRules},
		"ruby":       {pointer: ruby.Language, rules: rubyRules},
		"php":        {pointer: php.LanguagePHP, rules: phpRules},
		"kotlin":     {pointer: kotlin.Language, rules: kotlinRules},
		"scala":      {pointer: scala.Language, rules: scalaRules},
		"shell":      {pointer: bash.Language, rules: bashRules},
		"lua":        {pointer: lua.Language, rules: luaRules},
		"css":        {pointer: css.Language, rules: cssRules},
		"html":       {pointer: html.Language, rules: htmlRules},
		"json":       {pointer: json.Language, rules: jsonRules},
		"yaml":       {pointer: yaml.Language, rules: yamlRules},
		"toml":       {pointer: toml.Language, rules: tomlRules},
		"haskell":    {pointer: haskell.Language, rules: haskellRules},
	}
}
