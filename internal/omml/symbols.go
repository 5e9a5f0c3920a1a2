package omml

// greek are the commands of the Greek letters from α and Α on; a space where LaTeX has none.
var (
	small = [...]string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi", "", "pi", "rho", "varsigma",
		"sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"}
	large = map[rune]string{'Γ': "Gamma", 'Δ': "Delta", 'Θ': "Theta", 'Λ': "Lambda", 'Ξ': "Xi", 'Π': "Pi", 'Σ': "Sigma", 'Υ': "Upsilon", 'Φ': "Phi", 'Ψ': "Psi", 'Ω': "Omega"}
)

// operators are commands by character.
var operators = map[rune]string{
	'±': "pm", '∓': "mp", '×': "times", '÷': "div", '·': "cdot", '⋅': "cdot", '∙': "cdot", '∗': "ast", '∘': "circ", '•': "bullet", '⊕': "oplus", '⊗': "otimes", '⊙': "odot",
	'≤': "leq", '≥': "geq", '≠': "neq", '≈': "approx", '≡': "equiv", '∼': "sim", '≃': "simeq", '≅': "cong", '∝': "propto", '≪': "ll", '≫': "gg", '≺': "prec", '≻': "succ",
	'∈': "in", '∉': "notin", '∋': "ni", '⊂': "subset", '⊃': "supset", '⊆': "subseteq", '⊇': "supseteq", '∪': "cup", '∩': "cap", '∅': "emptyset", '∖': "setminus",
	'∀': "forall", '∃': "exists", '∄': "nexists", '¬': "neg", '∧': "wedge", '∨': "vee", '⊢': "vdash", '⊨': "models", '⊥': "perp", '∥': "parallel", '∠': "angle",
	'→': "rightarrow", '←': "leftarrow", '↔': "leftrightarrow", '⇒': "Rightarrow", '⇐': "Leftarrow", '⇔': "Leftrightarrow", '↑': "uparrow", '↓': "downarrow", '↦': "mapsto",
	'∞': "infty", '∂': "partial", '∇': "nabla", '∑': "sum", '∏': "prod", '∐': "coprod", '∫': "int", '∬': "iint", '∭': "iiint", '∮': "oint", '⋃': "bigcup", '⋂': "bigcap",
	'⋁': "bigvee", '⋀': "bigwedge", '⨁': "bigoplus", '⨂': "bigotimes", '√': "surd", '∴': "therefore", '∵': "because", '…': "ldots", '⋯': "cdots", '⋮': "vdots", '⋱': "ddots", '′': "prime",
	'ℏ': "hbar", 'ℓ': "ell", 'ℜ': "Re", 'ℑ': "Im", 'ℵ': "aleph", '†': "dagger", '‡': "ddagger", '⟨': "langle", '⟩': "rangle", '⌈': "lceil", '⌉': "rceil", '⌊': "lfloor",
	'⌋': "rfloor", '‖': "|", '△': "triangle", '□': "square", '◇': "diamond", '⋆': "star", 'ϵ': "epsilon", 'ϕ': "phi", 'φ': "varphi", 'ϑ': "vartheta", 'ϖ': "varpi", 'ϱ': "varrho",
	'ε': "varepsilon",
}

// command is the LaTeX command of a character, without its backslash; "" if there is none.
func command(r rune) string {
	if c := operators[r]; c != "" {
		return c
	}
	switch {
	case r >= 'α' && r <= 'ω':
		return small[r-'α']
	case r >= 0x1D6FC && r <= 0x1D714: // mathematical italic
		return small[r-0x1D6FC]
	case r >= 0x1D6E2 && r <= 0x1D6FA:
		return large['Α'+r-0x1D6E2]
	}
	return large[r]
}
