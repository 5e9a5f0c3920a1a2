package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxSecretFile bounds the files that file: references name.
const maxSecretFile = 64 << 10

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	secretName   = regexp.MustCompile(`(?i)(key|token|secret|pass|pwd|pw$|credential|auth|dsn)`)
)

// vault remembers what must not be printed.
type vault struct{ values []string }

func (v *vault) add(s string) {
	if len(s) >= 3 {
		v.values = append(v.values, s)
	}
}

// mask replaces every secret in s, and every password of a URL, by "***".
func (v *vault) mask(s string) string {
	for _, secret := range v.values {
		s = strings.ReplaceAll(s, secret, "***")
		if quoted := url.QueryEscape(secret); quoted != secret {
			s = strings.ReplaceAll(s, quoted, "***")
		}
	}
	return urlPassword.ReplaceAllString(s, "${1}***@")
}

var urlPassword = regexp.MustCompile(`(://[^\s/:@]*:)[^\s/]*@`)

// expander replaces variables in string values.
type expander struct {
	getenv func(string) (string, bool)
	vault  *vault
}

// expand resolves ${VAR}, ${VAR:-default} and $$. used says that a variable occurred.
func (x *expander) expand(s string) (text string, used bool, err error) {
	if strings.IndexByte(s, '$') < 0 {
		return s, false, nil
	}
	var b strings.Builder
	for len(s) > 0 {
		i := strings.IndexByte(s, '$')
		if i < 0 || i == len(s)-1 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		switch s = s[i+1:]; s[0] {
		case '$':
			b.WriteByte('$')
			s = s[1:]
		case '{':
			end := closing(s)
			if end < 0 {
				return "", true, errors.New(`"${" without its "}"; write $$ for a dollar sign`)
			}
			value, err := x.variable(s[1:end])
			if err != nil {
				return "", true, err
			}
			b.WriteString(value)
			used = true
			s = s[end+1:]
		default:
			b.WriteByte('$')
		}
	}
	return b.String(), used, nil
}

// closing is the index of the brace that closes the one at s[0], or -1.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (x *expander) variable(body string) (string, error) {
	name, fallback, hasDefault := strings.Cut(body, ":-")
	if !variableName.MatchString(name) {
		return "", errors.New(`expected ${NAME} or ${NAME:-default}; write $$ for a dollar sign`)
	}
	value, set := x.getenv(name)
	switch {
	case hasDefault && value == "":
		value, _, err := x.expand(fallback)
		return value, err
	case !set:
		return "", fmt.Errorf("the environment variable %s is not set; set it, or give a default: ${%s:-…}", name, name)
	case !utf8.ValidString(value):
		return "", fmt.Errorf("the environment variable %s does not hold UTF-8 text", name)
	}
	if secretName.MatchString(name) {
		x.vault.add(value)
	}
	return value, nil
}

// secret resolves a value for a secret field: raw is the text before expansion.
func (x *expander) secret(raw, dir string) (string, error) {
	text, _, err := x.expand(raw)
	if err != nil {
		return "", err
	}
	switch {
	case strings.HasPrefix(raw, "env:"):
		text, err = x.envReference(text[len("env:"):])
	case strings.HasPrefix(raw, "file:"):
		text, err = readSecret(text[len("file:"):], raw[len("file:"):], dir)
	}
	x.vault.add(text)
	return text, err
}

func (x *expander) envReference(name string) (string, error) {
	if !variableName.MatchString(name) {
		return "", errors.New("expected env:NAME, the name of an environment variable")
	}
	value, set := x.getenv(name)
	if !set {
		return "", fmt.Errorf("the environment variable %s is not set", name)
	}
	return value, nil
}

// readSecret reads the file that a reference names; raw is the path as it is written, for messages.
func readSecret(path, raw, dir string) (string, error) {
	if path == "" {
		return "", errors.New("expected file:PATH, the path of a file that holds the secret")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	cannot := func(err error) error {
		if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		return fmt.Errorf("the secret's file %q cannot be read: %w", raw, err)
	}
	if info, err := os.Stat(path); err != nil {
		return "", cannot(err)
	} else if !info.Mode().IsRegular() {
		return "", cannot(errors.New("it is not a regular file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return "", cannot(err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	switch {
	case err != nil:
		return "", cannot(err)
	case len(data) > maxSecretFile:
		return "", cannot(fmt.Errorf("it is over %d KiB", maxSecretFile>>10))
	}
	text := string(data)
	if t, ok := strings.CutSuffix(text, "\n"); ok {
		text = strings.TrimSuffix(t, "\r")
	}
	return text, nil
}
