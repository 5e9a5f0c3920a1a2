package latex

import "strings"

// class is what an environment is to those who cut the document.
type class int

const (
	classOther    class = iota
	classMath           // an equation
	classVerbatim       // what it holds is no LaTeX
	classComment        // what it holds is not typeset
	classTabular        // rows and cells
	classTable          // a table with its caption
	classFigure
	classListing // an algorithm
	classList
	classTheorem
	classQuote
)

// classOf is the class of an environment, starred or not.
func classOf(name string) class {
	switch strings.TrimSuffix(name, "*") {
	case "equation", "align", "alignat", "aligned", "gather", "gathered", "multline", "flalign", "eqnarray", "displaymath", "math",
		"split", "subequations", "dmath", "dgroup", "IEEEeqnarray", "xalignat", "array", "matrix", "pmatrix", "bmatrix", "cases":
		return classMath
	case "verbatim", "Verbatim", "BVerbatim", "LVerbatim", "SaveVerbatim", "alltt", "lstlisting", "minted", "filecontents", "tcblisting",
		"verbatimtab", "pycode", "Sinput", "Soutput", "spverbatim", "dirtree":
		return classVerbatim
	case "comment":
		return classComment
	case "tabular", "tabularx", "tabulary", "tabu", "longtable", "longtabu", "supertabular", "xltabular", "tblr", "longtblr":
		return classTabular
	case "table", "sidewaystable", "wraptable", "threeparttable", "margintable":
		return classTable
	case "figure", "sidewaysfigure", "wrapfigure", "marginfigure", "subfigure", "tikzpicture", "picture", "pgfpicture", "forest":
		return classFigure
	case "algorithm", "algorithmic", "algorithm2e", "algorithmicx":
		return classListing
	case "itemize", "enumerate", "description", "compactitem", "compactenum", "compactdesc", "inparaenum", "tasks", "thebibliography", "trivlist", "list":
		return classList
	case "theorem", "lemma", "proposition", "corollary", "definition", "remark", "example", "claim", "conjecture", "assumption", "axiom",
		"fact", "observation", "property", "exercise", "problem", "note", "hypothesis", "thm", "lem", "prop", "cor", "defn", "rem":
		return classTheorem
	case "quote", "quotation", "verse", "displayquote":
		return classQuote
	}
	return classOther
}

// sectioning ranks the commands that open sections, the outermost first; 0 is none of them. The last ones are those of KOMA-Script.
func sectioning(command string) int {
	switch command {
	case "part", "addpart":
		return 1
	case "chapter", "addchap":
		return 2
	case "section", "addsec":
		return 3
	case "subsection":
		return 4
	case "subsubsection":
		return 5
	case "paragraph":
		return 6
	case "subparagraph":
		return 7
	}
	return 0
}

// defines tells commands whose arguments are not part of the running text.
func defines(command string) bool {
	switch command {
	case "newcommand", "renewcommand", "providecommand", "newenvironment", "renewenvironment", "def", "gdef", "edef", "xdef",
		"DeclareMathOperator", "DeclareRobustCommand", "DeclarePairedDelimiter", "NewDocumentCommand", "RenewDocumentCommand",
		"ProvideDocumentCommand", "DeclareDocumentCommand", "NewDocumentEnvironment", "newtheorem", "titleformat", "titlespacing",
		"lstset", "lstdefinestyle", "lstdefinelanguage", "tikzset", "pgfplotsset", "hypersetup", "usepackage", "documentclass", "RequirePackage",
		"setlength", "addtolength", "setcounter", "definecolor", "captionsetup", "graphicspath", "newcolumntype", "AtBeginDocument", "ctexset":
		return true
	}
	return false
}

// refers tells commands whose arguments are names, not words.
func refers(command string) bool {
	switch command {
	case "cite", "citep", "citet", "citealp", "citealt", "citeauthor", "citeyear", "parencite", "textcite", "autocite", "footcite", "supercite", "nocite",
		"ref", "eqref", "autoref", "cref", "Cref", "pageref", "nameref", "vref", "label", "url", "nolinkurl", "path", "includegraphics",
		"input", "include", "subfile", "subfileinclude", "import", "subimport", "bibliography", "bibliographystyle", "addbibresource", "lstinputlisting", "inputminted",
		"SI", "si", "SIrange", "num", "qty", "unit", "ang", "usetikzlibrary", "vspace", "hspace":
		return true
	}
	return false
}
