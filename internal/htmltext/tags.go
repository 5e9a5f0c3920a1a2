package htmltext

import "golang.org/x/net/html/atom"

// class is what the parser makes of an element.
type class uint8

const (
	classInline    class = iota // part of the line; also unknown elements
	classBlock                  // starts and ends a block
	classHeading                // h1–h6
	classPre                    // preformatted text
	classTable                  // table
	classPart                   // parts of tables
	classList                   // ul, ol
	classItem                   // li
	classDefs                   // dl
	classDef                    // dt, dd
	classQuote                  // blockquote
	classScript                 // left out as script or style
	classUnseen                 // left out as hidden: not shown by browsers that run scripts
	classNav                    // left out as boilerplate
	classVoid                   // has no content and no text: meta, link
	classBreak                  // br
	classRule                   // hr
	classImage                  // img, area: have an alternative text
	classTitle                  // the page's title
	classSeparator              // not an element: stands for a container that is nested too deeply
)

// classOf sorts element names.
func classOf(a atom.Atom) class {
	switch a {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return classHeading
	case atom.Pre, atom.Listing, atom.Xmp, atom.Plaintext, atom.Textarea:
		return classPre
	case atom.Table:
		return classTable
	case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Colgroup:
		return classPart
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		return classList
	case atom.Li:
		return classItem
	case atom.Dl:
		return classDefs
	case atom.Dt, atom.Dd:
		return classDef
	case atom.Blockquote:
		return classQuote
	case atom.Script, atom.Style:
		return classScript
	case atom.Template, atom.Noscript, atom.Iframe, atom.Noembed, atom.Noframes:
		return classUnseen
	case atom.Nav, atom.Aside, atom.Footer:
		return classNav
	case atom.Meta, atom.Link, atom.Base, atom.Input, atom.Wbr, atom.Source, atom.Track, atom.Col, atom.Embed, atom.Param, atom.Frame, atom.Basefont, atom.Keygen:
		return classVoid
	case atom.Br:
		return classBreak
	case atom.Hr:
		return classRule
	case atom.Img, atom.Area, atom.Image:
		return classImage
	case atom.Title:
		return classTitle
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Body, atom.Html, atom.Head, atom.Address, atom.Center, atom.Details,
		atom.Summary, atom.Dialog, atom.Fieldset, atom.Legend, atom.Figure, atom.Figcaption, atom.Form, atom.Hgroup, atom.Option, atom.Optgroup,
		atom.Select, atom.Object, atom.Video, atom.Audio, atom.Canvas, atom.Frameset, atom.Picture, atom.Svg:
		return classBlock
	}
	return classInline
}

// level of a heading.
func level(a atom.Atom) int {
	switch a {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4:
		return 4
	case atom.H5:
		return 5
	}
	return 6
}
