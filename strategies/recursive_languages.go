package strategies

// languageSeparators lists what begins the larger parts of a source or markup file, best first. The lists are meant for
// languages that strategy "code" has no grammar for; they know no nesting.
func languageSeparators(language string) ([]string, bool) {
	blocks := []string{"\n\n", "\n", " "}
	var begins []string
	switch language {
	case "go":
		begins = []string{"\ntype ", "\nfunc ", "\nvar ", "\nconst "}
	case "python":
		begins = []string{"\nclass ", "\n@", "\ndef ", "\nasync def ", "\n    def ", "\n\tdef "}
	case "java", "kotlin", "scala", "c-sharp":
		begins = []string{"\nclass ", "\npublic class ", "\ninterface ", "\nobject ", "\n    public ", "\n    protected ", "\n    private ", "\n    fun ", "\n    def "}
	case "javascript", "typescript", "tsx", "jsx":
		begins = []string{"\nexport ", "\nclass ", "\ninterface ", "\nfunction ", "\nasync function ", "\nconst ", "\nlet ", "\nvar "}
	case "rust":
		begins = []string{"\nmod ", "\npub struct ", "\nstruct ", "\nimpl ", "\npub fn ", "\nfn ", "\n    pub fn ", "\n    fn "}
	case "c", "c++", "cpp":
		begins = []string{"\nnamespace ", "\nclass ", "\nstruct ", "\n}\n"}
	case "ruby":
		begins = []string{"\nmodule ", "\nclass ", "\n  class ", "\ndef ", "\n  def "}
	case "php":
		begins = []string{"\nclass ", "\nfunction ", "\n    public function ", "\n    private function ", "\n    function "}
	case "lua", "bash", "shell":
		begins = []string{"\nfunction ", "\nlocal function ", "\n}\n"}
	case "sql":
		begins = []string{";\n\n", "\nCREATE ", "\nINSERT ", ";\n"}
	case "protobuf", "protocol buffer":
		begins = []string{"\nservice ", "\nmessage ", "\nenum ", "\n  rpc "}
	case "markdown":
		begins = []string{"\n# ", "\n## ", "\n### ", "\n#### ", "\n##### ", "\n###### ", "\n---\n"}
	case "latex", "tex":
		begins = []string{"\n\\part", "\n\\chapter", "\n\\section", "\n\\subsection", "\n\\subsubsection", "\n\\begin{", "\n\\item "}
	case "html":
		begins = []string{"\n<section", "\n<article", "\n<h1", "\n<h2", "\n<h3", "\n<div", "\n<table", "\n<p", "</p>", "</div>", "</li>", "<br"}
	case "chinese", "japanese":
		begins = nil
		blocks = []string{"\n\n", "\n", "。", "！", "？", "；", "，", "、", " "}
	case "english":
		blocks = []string{"\n\n", "\n", ". ", "! ", "? ", "; ", ", ", " "}
	default:
		return nil, false
	}
	return append(begins, blocks...), true
}
