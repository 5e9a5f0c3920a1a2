package config

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

var sizePattern = regexp.MustCompile(`^(\d+(?:\.\d+)?) ?([KkMGT]i?)?B?$`)

// ParseSize reads a number of bytes: 512, 10kB, 64MiB, 1.5 GiB. k, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024.
func ParseSize(s string) (int64, error) {
	m := sizePattern.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, errors.New("expected a size such as 512, 10kB or 64MiB")
	}
	number, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, errors.New("expected a size such as 512, 10kB or 64MiB")
	}
	base := 1000.0
	if strings.HasSuffix(m[2], "i") {
		base = 1024
	}
	if m[2] != "" {
		number *= math.Pow(base, float64(1+strings.IndexByte("KMGT", strings.ToUpper(m[2])[0])))
	}
	if number >= math.MaxInt64 {
		return 0, errors.New("the size is out of range")
	}
	return int64(number), nil
}

// FormatSize is the shortest form that ParseSize reads back exactly: 64MiB, 10000.
func FormatSize(n int64) string {
	units := []string{"", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for n != 0 && n%1024 == 0 && i < len(units)-1 {
		n /= 1024
		i++
	}
	return strconv.FormatInt(n, 10) + units[i]
}

// Amount is a share of a whole, written 50%, or a number of things, written 20.
type Amount struct {
	Value   float64
	Percent bool
}

// String is the form in which it is written.
func (a Amount) String() string {
	s := strconv.FormatFloat(a.Value, 'f', -1, 64)
	if a.Percent {
		s += "%"
	}
	return s
}

// UnmarshalYAML reads 50% or 20.
func (a *Amount) UnmarshalYAML(n *yaml.Node) error {
	wrong := errors.New("expected a share such as 50% or a number such as 20")
	if n.Kind != yaml.ScalarNode {
		return wrong
	}
	digits, percent := strings.CutSuffix(strings.TrimSpace(n.Value), "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	switch {
	case err != nil || math.IsNaN(value) || value < 0 || value > math.MaxInt32:
		return wrong
	case percent && value > 100:
		return errors.New("expected a share from 0% to 100%")
	case !percent && value != math.Trunc(value):
		return errors.New("expected a whole number, or a share with %")
	}
	*a = Amount{Value: value, Percent: percent}
	return nil
}

// MarshalYAML writes the form that UnmarshalYAML reads.
func (a Amount) MarshalYAML() (any, error) {
	if a.Percent {
		return a.String(), nil
	}
	return int64(a.Value), nil
}

// JSONSchema describes what UnmarshalYAML takes.
func (Amount) JSONSchema() map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "integer", "minimum": 0},
		map[string]any{"type": "string", "pattern": `^\s*[0-9.]+\s*%\s*$|\$\{`},
	}}
}

// Exceeded says whether lost of total things are more than the amount. A share tolerates 10 things in any case, so that small
// folders can be tidied; to be stricter, give a number.
func (a Amount) Exceeded(lost, total int) bool {
	if !a.Percent {
		return float64(lost) > a.Value
	}
	return lost > 10 && float64(lost)*100 > a.Value*float64(total)
}
