//go:build cgo

package code

import (
	"strings"

	"github.com/kbsync/kbsync/connector"
)

func goRules() *rules {
	return &rules{
		decl: map[string]rule{
			"function_declaration": leaf("function"),
			"method_declaration":   leaf("method"),
			"type_declaration":     leaf("type").named("type_spec.name", "type_alias.name").in("type_spec.type", "type_alias.type"),
			"const_declaration":    leaf("variable").named("const_spec.name"),
			"var_declaration":      leaf("variable").named("var_spec.name", "var_spec_list.var_spec.name"),
		},
		lead:     set("comment"),
		imports:  set("import_declaration", "package_clause"),
		packages: map[string][]string{"package_clause": {"package_identifier"}},
		bodies:   set("block"),
		steps:    set("type_spec", "type_alias", "const_spec", "var_spec", "var_spec_list", "struct_type", "interface_type", "parameter_list", "parameter_declaration", "pointer_type", "generic_type"),
		adjust: func(t *tree, i int, d *decl) {
			switch t.nodes[i].kind {
			case "method_declaration":
				if receiver := t.receiver(i); receiver != "" {
					d.rename(receiver, d.symbol.Name)
				}
			case "type_declaration":
				if t.find(i, "type_spec.struct_type") >= 0 {
					d.symbol.Kind = "struct"
				} else if t.find(i, "type_spec.interface_type") >= 0 {
					d.symbol.Kind = "interface"
				}
			}
		},
	}
}

// receiver is the type name of a Go method's receiver.
func (t *tree) receiver(i int) string {
	c := t.find(i, "receiver.parameter_declaration.type")
	for c >= 0 {
		inner := t.child(c, "type_identifier")
		if inner < 0 {
			inner = t.child(c, "generic_type")
		}
		if inner < 0 {
			return shorten(t.text[t.nodes[c].start:t.nodes[c].end])
		}
		c = inner
	}
	return ""
}

func pythonRules() *rules {
	return &rules{
		decl: map[string]rule{
			"function_definition":  leaf("function"),
			"class_definition":     outer("class"),
			"type_alias_statement": leaf("type").named("left", "type"),
		},
		wrap:      set("decorated_definition"),
		bare:      set("decorated_definition"),
		lead:      set("comment"),
		imports:   set("import_statement", "import_from_statement", "future_import_statement"),
		bodies:    set("block"),
		docstring: true,
	}
}

func javaRules() *rules {
	return &rules{
		decl: map[string]rule{
			"class_declaration":               outer("class"),
			"record_declaration":              outer("class"),
			"interface_declaration":           outer("interface"),
			"annotation_type_declaration":     outer("interface"),
			"enum_declaration":                outer("enum"),
			"module_declaration":              leaf("module"),
			"method_declaration":              leaf("method"),
			"constructor_declaration":         leaf("method"),
			"compact_constructor_declaration": leaf("method"),
			"field_declaration":               leaf("variable").named("declarator.name"),
			"constant_declaration":            leaf("variable").named("declarator.name"),
		},
		lead:     set("line_comment", "block_comment"),
		imports:  set("import_declaration", "package_declaration"),
		packages: map[string][]string{"package_declaration": {"scoped_identifier", "identifier"}},
		through:  set("enum_body_declarations"),
		bodies:   set("class_body", "interface_body", "enum_body", "block", "module_body", "constructor_body"),
		steps:    set("variable_declarator"),
	}
}

// cRules are those of C and C++.
func cRules() *rules {
	return &rules{
		decl: map[string]rule{
			"function_definition":        leaf("function").named("declarator"),
			"declaration":                leaf("variable").named("declarator", "type.name"),
			"field_declaration":          leaf("variable").named("declarator", "type.name"),
			"type_definition":            leaf("type").named("declarator").in("type.body"),
			"alias_declaration":          leaf("type"),
			"struct_specifier":           outer("struct"),
			"union_specifier":            outer("struct"),
			"class_specifier":            outer("class"),
			"enum_specifier":             leaf("enum"),
			"namespace_definition":       outer("namespace"),
			"concept_definition":         leaf("type"),
			"preproc_def":                leaf("variable"),
			"preproc_function_def":       leaf("function"),
			"friend_declaration":         leaf("variable").named("declarator"),
			"namespace_alias_definition": leaf("type"),
		},
		wrap:    set("template_declaration"),
		lead:    set("comment", "attribute_declaration"),
		imports: set("preproc_include", "using_declaration", "import_declaration", "module_declaration"),
		through: set("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef", "linkage_specification", "declaration_list"),
		bodies:  set("compound_statement", "field_declaration_list", "declaration_list", "enumerator_list", "try_statement"),
		steps: set("function_declarator", "pointer_declarator", "reference_declarator", "array_declarator", "init_declarator",
			"parenthesized_declarator", "attributed_declarator"),
		adjust: func(t *tree, i int, d *decl) {
			n := &t.nodes[i]
			qualified := strings.Contains(d.symbol.Name, "::")
			if qualified {
				d.rename(strings.Split(withoutArguments(d.symbol.Name), "::")...)
			}
			if n.kind == "declaration" || n.kind == "field_declaration" {
				if t.declaresFunction(i) {
					d.symbol.Kind = "function"
				} else if body := t.find(i, "type.body"); body >= 0 && t.find(i, "declarator") < 0 {
					d.symbol.Kind = "struct"
				}
			}
			if qualified && d.symbol.Kind == "function" {
				d.symbol.Kind = "method"
			}
		},
	}
}

// withoutArguments removes template arguments from a qualified name: C<T>::m is C::m.
func withoutArguments(name string) string {
	if strings.Contains(name, "operator") {
		return name
	}
	var b strings.Builder
	depth := 0
	for _, c := range name {
		switch {
		case c == '<':
			depth++
		case c == '>':
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func (t *tree) declaresFunction(i int) bool {
	for c := t.child(i, "declarator"); c >= 0; c = t.child(c, "declarator") {
		if t.nodes[c].kind == "function_declarator" {
			return true
		}
	}
	return false
}

func csharpRules() *rules {
	return &rules{
		decl: map[string]rule{
			"namespace_declaration":             outer("namespace"),
			"file_scoped_namespace_declaration": leaf("namespace"),
			"class_declaration":                 outer("class"),
			"record_declaration":                outer("class"),
			"record_struct_declaration":         outer("struct"),
			"struct_declaration":                outer("struct"),
			"interface_declaration":             outer("interface"),
			"enum_declaration":                  leaf("enum"),
			"delegate_declaration":              leaf("type"),
			"method_declaration":                leaf("method"),
			"constructor_declaration":           leaf("method"),
			"destructor_declaration":            leaf("method"),
			"operator_declaration":              leaf("method").named("operator"),
			"conversion_operator_declaration":   leaf("method").named("type"),
			"indexer_declaration":               leaf("method").named("this").in("accessors"),
			"property_declaration":              leaf("variable").in("accessors", "value"),
			"event_declaration":                 leaf("variable"),
			"event_field_declaration":           leaf("variable").named("variable_declaration.variable_declarator.name"),
			"field_declaration":                 leaf("variable").named("variable_declaration.variable_declarator.name"),
			"local_function_statement":          leaf("function"),
		},
		lead:     set("comment"),
		imports:  set("using_directive", "extern_alias_directive"),
		through:  set("declaration_list", "global_statement", "preproc_if", "preproc_else", "preproc_elif"),
		bodies:   set("block", "declaration_list", "enum_member_declaration_list", "arrow_expression_clause"),
		steps:    set("variable_declaration", "variable_declarator"),
		packages: map[string][]string{"file_scoped_namespace_declaration": {"name"}},
		adjust:   bodiless("file_scoped_namespace_declaration"),
	}
}

// bodiless counts declarations of the file's namespace or package, which have no body, among the imports.
func bodiless(kind string) func(t *tree, i int, d *decl) {
	return func(t *tree, i int, d *decl) {
		if t.nodes[i].kind == kind && t.child(i, "body") < 0 {
			d.symbol = connector.Symbol{Kind: "import"}
		}
	}
}

func rustRules() *rules {
	return &rules{
		decl: map[string]rule{
			"function_item":           leaf("function"),
			"function_signature_item": leaf("function"),
			"struct_item":             leaf("struct"),
			"union_item":              leaf("struct"),
			"enum_item":               leaf("enum"),
			"trait_item":              outer("trait"),
			"impl_item":               outer("impl").named("type"),
			"mod_item":                outer("module"),
			"type_item":               leaf("type"),
			"associated_type":         leaf("type"),
			"const_item":              leaf("variable").in("value"),
			"static_item":             leaf("variable").in("value"),
			"macro_definition":        leaf("function"),
			"foreign_mod_item":        outer("module").named("extern_modifier"),
		},
		lead:    set("line_comment", "block_comment", "attribute_item"),
		imports: set("use_declaration", "extern_crate_declaration"),
		bodies:  set("block", "declaration_list", "field_declaration_list", "enum_variant_list"),
		adjust: func(t *tree, i int, d *decl) {
			if t.nodes[i].kind == "impl_item" {
				name, _, _ := strings.Cut(d.symbol.Name, "<")
				d.rename(name)
			}
		},
	}
}
