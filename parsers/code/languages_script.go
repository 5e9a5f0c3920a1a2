//go:build cgo

package code

import "strings"

// scriptRules are those of JavaScript, TypeScript and TSX.
func scriptRules() *rules {
	value := []string{"variable_declarator.value.body", "variable_declarator.value"}
	holdsCode := func(t *tree, i int) bool { _, kind := t.scriptValue(i); return kind != "" }
	return &rules{
		decl: map[string]rule{
			"function_declaration":           leaf("function"),
			"generator_function_declaration": leaf("function"),
			"function_signature":             leaf("function"),
			"class_declaration":              outer("class"),
			"abstract_class_declaration":     outer("class"),
			"interface_declaration":          outer("interface"),
			"enum_declaration":               leaf("enum"),
			"type_alias_declaration":         leaf("type").in("value"),
			"internal_module":                outer("namespace"),
			"module":                         outer("module"),
			"method_definition":              leaf("method"),
			"method_signature":               leaf("method"),
			"abstract_method_signature":      leaf("method"),
			"field_definition":               leaf("variable").named("property").in("value"),
			"public_field_definition":        leaf("variable").in("value"),
			"property_signature":             leaf("variable"),
			"lexical_declaration":            leaf("variable").named("variable_declarator.name").in(value...),
			"variable_declaration":           leaf("variable").named("variable_declarator.name").in(value...),
			"assignment_expression":          leaf("variable").named("left").in("right.body", "right").only(holdsCode),
			"pair":                           leaf("variable").named("key").in("value.body", "value").only(holdsCode),
			"export_statement":               leaf("variable").named("default").in("value.body", "value").only(holdsCode),
		},
		wrap:    set("export_statement", "ambient_declaration"),
		lead:    set("comment", "decorator"),
		imports: set("import_statement"),
		through: set("expression_statement"),
		bodies:  set("class_body", "statement_block", "interface_body", "object_type", "enum_body"),
		steps:   set("variable_declarator", "arrow_function", "function_expression", "class"),
		adjust:  adjustScript,
	}
}

// adjustScript reads declarations whose value is code: functions, classes, and objects that hold functions.
func adjustScript(t *tree, i int, d *decl) {
	v, kind := t.scriptValue(i)
	if kind == "" {
		return
	}
	d.symbol.Kind = kind
	if t.nodes[i].kind == "assignment_expression" {
		d.renameTarget()
	}
	body := t.child(v, "body")
	if body < 0 {
		body = v
	}
	d.symbol.Header, d.symbol.Body = t.divide(d.symbol.Header.Start, d.end, body)
	if kind != "function" {
		d.children = t.sequence(body, d.symbol.Path, len(d.symbol.Path))
	}
}

// renameTarget names what is assigned by its own words: Foo.prototype.bar is the method bar of Foo.
func (d *decl) renameTarget() {
	if strings.ContainsAny(d.symbol.Name, " ()[]'\"`?!") {
		return
	}
	var names []string
	for name := range strings.SplitSeq(d.symbol.Name, ".") {
		switch name {
		case "prototype", "this", "window", "globalThis", "module", "exports", "":
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	if len(names) > 1 && d.symbol.Kind == "function" {
		d.symbol.Kind = "method"
	}
	d.rename(names...)
}

// scriptValue is the function, class or object with functions that i gives a name to, itself or as an argument of one call, and the kind of
// symbol that it makes; empty if i is something else. Objects are known by their functions only where the tree has their members, which is from
// [largeNode] bytes on.
func (t *tree) scriptValue(i int) (v int, kind string) {
	switch t.nodes[i].kind {
	case "lexical_declaration", "variable_declaration":
		v = t.find(i, "variable_declarator.value")
	case "assignment_expression":
		v = t.child(i, "right")
	case "pair", "export_statement":
		v = t.child(i, "value")
	default:
		return -1, ""
	}
	if v < 0 {
		return -1, ""
	}
	if k := t.nodes[v].kind; k == "call_expression" || k == "new_expression" {
		args := t.child(v, "arguments")
		if args < 0 {
			return -1, ""
		}
		for c := range t.children(args) {
			if kind := t.codeKind(c, maxObjects); kind != "" {
				return c, kind
			}
		}
		return -1, ""
	}
	return v, t.codeKind(v, maxObjects)
}

// maxObjects is how deep objects are searched for functions.
const maxObjects = 3

// codeKind is the kind of symbol that a value makes; empty for mere data.
func (t *tree) codeKind(v, depth int) string {
	switch t.nodes[v].kind {
	case "arrow_function", "function_expression", "generator_function":
		return "function"
	case "class":
		return "class"
	case "object":
		for c := range t.children(v) {
			if t.nodes[c].kind == "method_definition" {
				return "module"
			}
			if w := t.child(c, "value"); w >= 0 && depth > 0 && t.codeKind(w, depth-1) != "" {
				return "module"
			}
		}
	}
	return ""
}
