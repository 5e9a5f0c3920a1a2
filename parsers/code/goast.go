//go:build !cgo

package code

import (
	"go/ast"
	"go/parser"
	"go/token"

	"github.com/kbsync/kbsync/connector"
)

// parseGo divides Go source by go/ast; ok is false if it does not parse.
func parseGo(text string) (list []decl, ok bool) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, false
	}
	g := &goFile{text: text, base: set.File(file.FileStart).Base()}
	g.gather(file)
	for i := range g.list {
		if s := &g.list[i].symbol; len(s.Path) > 0 {
			s.Path = append([]string{file.Name.Name}, s.Path...)
		}
	}
	return g.list, true
}

type goFile struct {
	text string
	base int
	list []decl
}

// at is the offset of p; line directives do not move it.
func (g *goFile) at(p token.Pos) int { return int(p) - g.base }

func (g *goFile) span(n ast.Node) connector.Span {
	return connector.Span{Start: g.at(n.Pos()), End: g.at(n.End())}
}

// gather lists the declarations and the comments between them in order.
func (g *goFile) gather(file *ast.File) {
	clause := decl{symbol: connector.Symbol{Kind: "import"}, start: g.at(file.Package), end: g.at(file.Name.End())}
	if file.Doc != nil {
		clause.start = g.at(file.Doc.Pos())
	}
	comments := file.Comments
	add := func(d decl) {
		for len(comments) > 0 && g.at(comments[0].Pos()) < d.start {
			c := comments[0]
			comments = comments[1:]
			if s := g.span(c); g.startsLine(s.Start) && (len(g.list) == 0 || s.Start >= g.list[len(g.list)-1].end) {
				g.list = append(g.list, decl{symbol: statementSymbol(s.Start, s.End), start: s.Start, end: s.End})
			}
		}
		if last := len(g.list) - 1; last >= 0 && d.symbol.Kind == "import" && g.list[last].symbol.Kind == "import" {
			g.list[last].end = d.end
			return
		}
		g.list = append(g.list, d)
	}
	add(clause)
	for _, n := range file.Decls {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(g.function(n))
		case *ast.GenDecl:
			add(g.general(n))
		}
	}
	if last := len(g.list) - 1; last >= 0 {
		add(decl{symbol: statementSymbol(len(g.text), len(g.text)), start: len(g.text), end: len(g.text)})
	}
}

func (g *goFile) startsLine(pos int) bool {
	start := lineStart(g.text, pos, 0)
	return start == 0 || g.text[start-1] == '\n'
}

func (g *goFile) function(n *ast.FuncDecl) decl {
	s := g.span(n)
	d := decl{start: s.Start, end: s.End}
	d.symbol = connector.Symbol{Kind: "function", Name: n.Name.Name, Path: []string{n.Name.Name}, Header: s}
	if n.Recv != nil && len(n.Recv.List) > 0 {
		d.symbol.Kind = "method"
		d.symbol.Path = []string{receiverName(n.Recv.List[0].Type), n.Name.Name}
	}
	d.symbol.Header.Start = g.at(n.Type.Func)
	d.symbol.Body = connector.Span{Start: s.End, End: s.End}
	g.document(&d, n.Doc)
	if n.Body == nil {
		return d
	}
	open := g.at(n.Body.Lbrace) + 1
	d.symbol.Header.End = open
	d.symbol.Body = connector.Span{Start: open, End: s.End}
	if s.Len() >= largeText {
		d.children = g.statements(n.Body, 0)
	}
	return d
}

// statements are the parts of a large block, and of the large blocks inside it.
func (g *goFile) statements(block *ast.BlockStmt, depth int) []decl {
	var out []decl
	for _, n := range block.List {
		s := g.span(n)
		d := decl{symbol: statementSymbol(s.Start, s.End), start: s.Start, end: s.End}
		if inner := innerBlock(n); s.Len() >= largeText && inner != nil && depth < maxParts {
			d.children = g.statements(inner, depth+1)
		}
		out = append(out, d)
	}
	return out
}

func innerBlock(n ast.Stmt) *ast.BlockStmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n
	case *ast.IfStmt:
		return n.Body
	case *ast.ForStmt:
		return n.Body
	case *ast.RangeStmt:
		return n.Body
	case *ast.SwitchStmt:
		return n.Body
	case *ast.TypeSwitchStmt:
		return n.Body
	case *ast.SelectStmt:
		return n.Body
	case *ast.CaseClause:
		return &ast.BlockStmt{List: n.Body}
	case *ast.CommClause:
		return &ast.BlockStmt{List: n.Body}
	}
	return nil
}

func receiverName(t ast.Expr) string {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func (g *goFile) general(n *ast.GenDecl) decl {
	s := g.span(n)
	d := decl{start: s.Start, end: s.End}
	if n.Tok == token.IMPORT {
		d.symbol.Kind = "import"
		g.document(&d, n.Doc)
		return d
	}
	d.symbol = connector.Symbol{Kind: "variable", Header: s, Body: connector.Span{Start: s.End, End: s.End}}
	if len(n.Specs) > 0 {
		switch spec := n.Specs[0].(type) {
		case *ast.TypeSpec:
			d.symbol.Kind, d.symbol.Name = typeKind(spec), spec.Name.Name
		case *ast.ValueSpec:
			d.symbol.Name = spec.Names[0].Name
		}
	} else if n.Tok == token.TYPE {
		d.symbol.Kind = "type"
	}
	d.symbol.Path = []string{d.symbol.Name}
	end := lineEndAt(g.text, s)
	d.symbol.Header = connector.Span{Start: g.at(n.TokPos), End: end}
	d.symbol.Body = connector.Span{Start: end, End: s.End}
	g.document(&d, n.Doc)
	return d
}

func typeKind(spec *ast.TypeSpec) string {
	switch spec.Type.(type) {
	case *ast.StructType:
		return "struct"
	case *ast.InterfaceType:
		return "interface"
	}
	return "type"
}

// lineEndAt is where the first line of s ends, its line end not included.
func lineEndAt(text string, s connector.Span) int {
	for i := s.Start; i < s.End; i++ {
		if text[i] == '\n' {
			return i
		}
	}
	return s.End
}

func (g *goFile) document(d *decl, doc *ast.CommentGroup) {
	d.symbol.Doc = connector.Span{Start: d.start, End: d.start}
	if doc != nil {
		d.symbol.Doc = g.span(doc)
		d.start = min(d.start, d.symbol.Doc.Start)
	}
}
