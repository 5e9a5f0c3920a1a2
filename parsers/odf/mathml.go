package odf

import (
	"strings"

	"github.com/kbsync/kbsync/internal/xmlscan"
)

// mathML writes the equation whose Start is the current event as LaTeX. What it does not know is written as its text.
func mathML(s *xmlscan.Scanner) (string, error) {
	args, err := mathArgs(s, 0)
	return strings.Join(strings.Fields(strings.Join(args, " ")), " "), err
}

// maxMath is how deep what is written nests; deeper parts are written as their text.
const maxMath = 100

// mathArgs writes the children of the current element.
func mathArgs(s *xmlscan.Scanner, depth int) ([]string, error) {
	var out []string
	for open := s.Depth(); ; {
		k, err := s.Next()
		if err != nil {
			return nil, err
		}
		switch {
		case s.Depth() < open:
			return out, nil
		case k == xmlscan.Text && !s.Blank():
			out = append(out, mathText(strings.TrimSpace(string(s.Text()))))
		case k == xmlscan.Start:
			text, err := mathElement(s, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, text)
		}
	}
}

func mathElement(s *xmlscan.Scanner, depth int) (string, error) {
	name := string(s.Name())
	if name == "annotation" {
		return "", s.Skip()
	}
	if depth > maxMath {
		name = ""
	}
	left, right := s.String("open"), s.String("close")
	args, err := mathArgs(s, depth)
	at := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	all := strings.Join(args, " ")
	switch name {
	case "mfrac":
		return `\frac{` + at(0) + `}{` + at(1) + `}`, err
	case "msqrt":
		return `\sqrt{` + all + `}`, err
	case "mroot":
		return `\sqrt[` + at(1) + `]{` + at(0) + `}`, err
	case "msup", "mover":
		return grouped(at(0)) + `^{` + at(1) + `}`, err
	case "msub", "munder":
		return grouped(at(0)) + `_{` + at(1) + `}`, err
	case "msubsup", "munderover":
		return grouped(at(0)) + `_{` + at(1) + `}^{` + at(2) + `}`, err
	case "mtext":
		return `\text{` + all + `}`, err
	case "mfenced":
		if left == "" {
			left = "("
		}
		if right == "" {
			right = ")"
		}
		return left + strings.Join(args, ", ") + right, err
	case "mtable":
		return `\begin{matrix}` + strings.Join(args, ` \\ `) + `\end{matrix}`, err
	case "mtr":
		return strings.Join(args, " & "), err
	}
	return all, err
}

// grouped puts what is more than one sign into braces.
func grouped(s string) string {
	if strings.ContainsAny(s, " ^_") && !strings.HasPrefix(s, `\`) {
		return "{" + s + "}"
	}
	return s
}

// signs are the operators and letters that have a command.
var signs = strings.NewReplacer(
	"∑", `\sum`, "∏", `\prod`, "∫", `\int`, "∞", `\infty`, "≤", `\le`, "≥", `\ge`, "≠", `\ne`, "≈", `\approx`, "×", `\times`, "⋅", `\cdot`, "±", `\pm`, "→", `\to`, "∂", `\partial`,
	"−", "-", "α", `\alpha`, "β", `\beta`, "γ", `\gamma`, "δ", `\delta`, "ε", `\epsilon`, "θ", `\theta`, "λ", `\lambda`, "μ", `\mu`, "π", `\pi`, "ρ", `\rho`, "σ", `\sigma`,
	"τ", `\tau`, "φ", `\phi`, "ω", `\omega`, "Δ", `\Delta`, "Σ", `\Sigma`, "Ω", `\Omega`, "{", `\{`, "}", `\}`, "%", `\%`, "#", `\#`,
)

func mathText(s string) string { return signs.Replace(s) }
