//go:build cgo

package code

// rules say what the nodes of one language's tree are.
type rules struct {
	// decl are the declarations by kind of node.
	decl map[string]rule
	// wrap are nodes around a declaration that belong to it (export, template); bare ones are left out of the header (decorators).
	wrap map[string]bool
	bare map[string]bool
	// lead are nodes that belong to what follows them: comments, attributes, annotations.
	lead map[string]bool
	// imports are gathered into one element.
	imports map[string]bool
	// through are containers whose children count as their parent's.
	through map[string]bool
	// bodies are the blocks of declarations that give them no role.
	bodies map[string]bool
	// steps are further nodes on the way to names and bodies.
	steps map[string]bool
	// docstring: a string as the first statement of a body is its documentation.
	docstring bool
	// equations: successive declarations of one name are one.
	equations bool
	// packages are the nodes that name the package of what follows, with the roles or kinds of the name in them.
	packages map[string][]string
	// leads says that i belongs to what follows it, where its kind alone does not; may be nil.
	leads func(t *tree, i int) bool
	// adjust corrects what the tables cannot say; may be nil.
	adjust func(t *tree, i int, d *decl)
}

// rule says how a declaration is read.
type rule struct {
	kind    string                    // the Symbol's Kind
	members bool                      // the body holds declarations
	name    []string                  // paths to the name, see tree.find
	body    []string                  // paths to the body
	when    func(t *tree, i int) bool // whether it is a declaration at all; nil: always
}

// descends says whether the children of nodes of that kind are needed.
func (r *rules) descends(kind string) bool {
	_, decl := r.decl[kind]
	_, pkg := r.packages[kind]
	return decl || pkg || r.wrap[kind] || r.through[kind] || r.bodies[kind] || r.steps[kind]
}

func set(kinds ...string) map[string]bool {
	m := make(map[string]bool, len(kinds))
	for _, k := range kinds {
		m[k] = true
	}
	return m
}

// leaf is a declaration without members whose name and body have those roles.
func leaf(kind string) rule { return rule{kind: kind, name: []string{"name"}, body: []string{"body"}} }

// outer is a declaration whose body holds declarations.
func outer(kind string) rule {
	return rule{kind: kind, members: true, name: []string{"name"}, body: []string{"body"}}
}

// named reads a declaration's name by the given paths.
func (r rule) named(paths ...string) rule { r.name = paths; return r }

// in reads a declaration's body by the given paths.
func (r rule) in(paths ...string) rule { r.body = paths; return r }

// only reads a node as a declaration where when says so.
func (r rule) only(when func(t *tree, i int) bool) rule { r.when = when; return r }

// rename gives d other names: those that its own declaration spells, outermost first.
func (d *decl) rename(names ...string) {
	outer := len(d.symbol.Path) - 1
	d.symbol.Path = append(d.symbol.Path[:outer:outer], names...)
	d.symbol.Name = names[len(names)-1]
}
