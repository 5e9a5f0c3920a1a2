package connector

import (
	"fmt"
	"log/slog"
)

// Secret is a string that does not print: every way of formatting, logging or marshalling it gives "***".
type Secret string

const mask = "***"

// Reveal is the secret itself. Call it only where it is sent to the service that it belongs to.
func (s Secret) Reveal() string { return string(s) }

// String is "***", or empty if the secret is.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// Format prints "***" whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// LogValue is String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML is String.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// UnmarshalText takes the text as it is.
func (s *Secret) UnmarshalText(b []byte) error {
	*s = Secret(b)
	return nil
}
