//go:build cgo

package code

import "strings"

func rubyRules() *rules {
	return &rules{
		decl: map[string]rule{
			"class":            outer("class"),
			"singleton_class":  outer("class").named("value"),
			"module":           outer("module"),
			"method":           leaf("function"),
			"singleton_method": leaf("method"),
			"alias":            leaf("variable"),
		},
		wrap: set("call", "argument_list"), // private def m
		lead: set("comment"),
		leads: func(t *tree, i int) bool { // a signature of Sorbet
			text := t.text[t.nodes[i].start:t.nodes[i].end]
			return t.nodes[i].kind == "call" && (strings.HasPrefix(text, "sig {") || strings.HasPrefix(text, "sig do"))
		},
		bodies: set("body_statement"),
	}
}

func phpRules() *rules {
	return &rules{
		decl: map[string]rule{
			"class_declaration":     outer("class"),
			"interface_declaration": outer("interface"),
			"trait_declaration":     outer("trait"),
			"enum_declaration":      outer("enum"),
			"namespace_definition":  outer("namespace"),
			"function_definition":   leaf("function"),
			"method_declaration":    leaf("method"),
			"const_declaration":     leaf("variable").named("const_element.name"),
			"property_declaration":  leaf("variable").named("property_element.name"),
		},
		lead:     set("comment", "attribute_list"),
		imports:  set("namespace_use_declaration"),
		bodies:   set("compound_statement", "declaration_list", "enum_declaration_list"),
		steps:    set("const_element", "property_element"),
		packages: map[string][]string{"namespace_definition": {"name"}},
		adjust:   bodiless("namespace_definition"),
	}
}

func kotlinRules() *rules {
	return &rules{
		decl: map[string]rule{
			"class_declaration":     outer("class"),
			"object_declaration":    outer("class"),
			"companion_object":      outer("class"),
			"function_declaration":  leaf("function"),
			"secondary_constructor": leaf("method").named("constructor"),
			"property_declaration":  leaf("variable").named("variable_declaration.identifier"),
			"type_alias":            leaf("type").named("type", "identifier"),
			"enum_entry":            leaf("variable").named("identifier"),
		},
		lead:     set("line_comment", "block_comment", "multiline_comment", "comment", "file_annotation"),
		imports:  set("import", "import_list", "import_header", "package_header"),
		packages: map[string][]string{"package_header": {"qualified_identifier", "identifier"}},
		through:  set("source_file"),
		bodies:   set("class_body", "enum_class_body", "function_body", "block"),
		steps:    set("variable_declaration"),
		adjust: func(t *tree, i int, d *decl) {
			switch {
			case t.child(i, "interface") >= 0:
				d.symbol.Kind = "interface"
			case t.nodes[i].kind == "companion_object" && d.symbol.Name == "":
				d.rename("Companion")
			}
		},
	}
}

func scalaRules() *rules {
	return &rules{
		decl: map[string]rule{
			"class_definition":     outer("class"),
			"object_definition":    outer("module"),
			"package_object":       outer("module"),
			"trait_definition":     outer("trait"),
			"enum_definition":      outer("enum"),
			"package_clause":       outer("namespace"),
			"extension_definition": outer("impl").named("parameters"),
			"given_definition":     outer("impl"),
			"function_definition":  leaf("function"),
			"function_declaration": leaf("function"),
			"val_definition":       leaf("variable").named("pattern").in("value"),
			"var_definition":       leaf("variable").named("pattern").in("value"),
			"val_declaration":      leaf("variable"),
			"var_declaration":      leaf("variable"),
			"type_definition":      leaf("type"),
		},
		lead:     set("comment", "block_comment", "annotation"),
		imports:  set("import_declaration", "export_declaration"),
		bodies:   set("template_body", "enum_body", "with_template_body", "block", "indented_block"),
		packages: map[string][]string{"package_clause": {"name"}},
		adjust:   bodiless("package_clause"),
	}
}

func bashRules() *rules {
	return &rules{
		decl:   map[string]rule{"function_definition": leaf("function")},
		lead:   set("comment"),
		bodies: set("compound_statement", "subshell"),
	}
}

func luaRules() *rules {
	function := "expression_list.function_definition"
	return &rules{
		decl: map[string]rule{
			"function_declaration": leaf("function"),
			"variable_declaration": leaf("variable").named("assignment_statement.variable_list.name", "variable_list.name").
				in("assignment_statement." + function + ".body"),
			"assignment_statement": leaf("function").named("variable_list").in(function + ".body").
				only(func(t *tree, i int) bool { return t.find(i, function) >= 0 }),
		},
		lead:   set("comment"),
		bodies: set("block"),
		steps:  set("variable_list", "expression_list", "function_definition"),
		adjust: func(t *tree, i int, d *decl) {
			if t.find(i, "assignment_statement."+function) >= 0 {
				d.symbol.Kind = "function"
			}
			if d.symbol.Kind != "function" {
				return
			}
			if strings.Contains(d.symbol.Name, ":") {
				d.symbol.Kind = "method"
			}
			if names := strings.FieldsFunc(d.symbol.Name, func(r rune) bool { return r == '.' || r == ':' }); len(names) > 1 {
				d.rename(names...)
			}
		},
	}
}

func cssRules() *rules {
	return &rules{
		decl: map[string]rule{
			"rule_set":            leaf("type").named("selectors"),
			"media_statement":     outer("module").named("feature_query", "keyword_query", "binary_query"),
			"supports_statement":  outer("module"),
			"keyframes_statement": leaf("type").named("keyframes_name"),
			"at_rule":             leaf("module").named("at_keyword"),
		},
		lead:    set("comment"),
		imports: set("import_statement", "charset_statement", "namespace_statement"),
		bodies:  set("block", "keyframe_block_list"),
	}
}

func htmlRules() *rules {
	raw := rule{kind: "module", name: []string{"start_tag.tag_name"}, body: []string{"raw_text"}}
	return &rules{
		decl: map[string]rule{
			"element": rule{kind: "module", name: []string{"start_tag.tag_name", "self_closing_tag.tag_name"}}.only(func(t *tree, i int) bool {
				rest := t.text[t.nodes[i].start:t.nodes[i].end] // in templates, < may be an operator
				return len(rest) > 1 && (rest[1]|0x20 >= 'a' && rest[1]|0x20 <= 'z')
			}),
			"script_element": raw,
			"style_element":  raw,
		},
		lead:  set("comment"),
		steps: set("start_tag", "self_closing_tag"),
		adjust: func(t *tree, i int, d *decl) {
			body := t.child(i, "raw_text")
			if body < 0 || t.nodes[i].kind == "element" {
				return
			}
			tag := t.text[t.nodes[i].start:t.nodes[body].start]
			d.children = t.inner(tagLanguage(d.symbol.Name, tag), t.nodes[body].start, t.nodes[body].end)
		},
	}
}

func jsonRules() *rules {
	return &rules{
		decl:    map[string]rule{"pair": {kind: "variable", name: []string{"key"}, body: []string{"value"}}},
		lead:    set("comment"),
		through: set("document", "object", "array"),
	}
}

func yamlRules() *rules {
	return &rules{
		decl:    map[string]rule{"block_mapping_pair": {kind: "variable", name: []string{"key"}, body: []string{"value"}}},
		lead:    set("comment"),
		through: set("stream", "document", "block_node", "block_mapping", "block_sequence"),
		bodies:  set("block_node"),
	}
}

func tomlRules() *rules {
	key := []string{"bare_key", "dotted_key", "quoted_key"}
	return &rules{
		decl: map[string]rule{
			"table":               {kind: "variable", name: key},
			"table_array_element": {kind: "variable", name: key},
			"pair":                {kind: "variable", name: key},
		},
		lead: set("comment"),
	}
}

func haskellRules() *rules {
	return &rules{
		decl: map[string]rule{
			"function":       leaf("function").in("match"),
			"bind":           leaf("function").in("match"),
			"signature":      leaf("function"),
			"data_type":      leaf("type"),
			"newtype":        leaf("type"),
			"type_synomym":   leaf("type"),
			"type_family":    leaf("type"),
			"class":          outer("class").in("declarations"),
			"instance":       outer("impl").in("declarations"),
			"foreign_import": leaf("function"),
		},
		lead:      set("comment", "haddock", "pragma"),
		imports:   set("header", "import"),
		packages:  map[string][]string{"header": {"module"}},
		through:   set("declarations", "imports", "haskell"),
		bodies:    set("class_declarations", "instance_declarations"),
		equations: true,
	}
}
