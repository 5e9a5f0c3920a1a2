package sql

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// scanner reads the tokens of a statement as far as they matter here: words, quoted text, parentheses, semicolons.
type scanner struct {
	text   string
	at     int
	driver string
}

// checkQuery checks that a query is one SELECT that can stand as a table in parentheses, and gives it without what follows its end.
// It keeps mistakes from becoming odd errors; that nothing is written is up to the database, whose sessions only read.
func checkQuery(query, driver string) (string, error) {
	if strings.TrimSpace(query) == "" {
		return "", errors.New("missing; write one SELECT")
	}
	if len(query) > maxQuery || strings.ContainsRune(query, 0) {
		return "", fmt.Errorf("it is longer than %d bytes or holds a NUL", maxQuery)
	}
	s := &scanner{text: query, driver: driver}
	var words []string // and punctuation, the last few
	depth, end := 0, -1
	for {
		token, err := s.next()
		if err != nil {
			return "", err
		}
		switch {
		case token == "" && len(words) == 0:
			return "", errors.New("it is empty; write one SELECT")
		case token == "":
			if depth > 0 {
				return "", errors.New("a parenthesis is not closed")
			}
			if end < 0 {
				end = len(query)
			}
			return query[:end], nil
		case token == ";":
			if depth > 0 {
				return "", errors.New("there is a semicolon inside parentheses")
			}
			if end < 0 {
				end = s.at - 1
			}
			continue
		case end >= 0:
			return "", errors.New("it is more than one statement; write one SELECT")
		case token == "(":
			depth++
		case token == ")":
			if depth--; depth < 0 {
				return "", errors.New("a parenthesis is closed that was not opened")
			}
		}
		if len(words) == 0 && token != "SELECT" && token != "WITH" {
			return "", fmt.Errorf("it starts with %s; expected SELECT or WITH", token)
		}
		if err := refused(words, token, driver); err != nil {
			return "", err
		}
		words = append(words[max(0, len(words)-1):len(words):len(words)], token)
	}
}

// refused finds what a query of a source cannot hold: parameters, locks, statements that write.
func refused(words []string, token, driver string) error {
	last, before := "", ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	switch {
	case token == "?" && driver != driverPostgres, driver == driverPostgres && len(token) > 1 && token[0] == '$':
		return fmt.Errorf("it has a parameter (%s); write the value itself", token)
	case last == "FOR" && (token == "UPDATE" || token == "SHARE"), last == "LOCK" && token == "IN":
		return errors.New("it locks rows (FOR UPDATE and the like); a source only reads")
	case (before == "AS" || before == "MATERIALIZED") && last == "(" && slices.Contains([]string{"INSERT", "UPDATE", "DELETE", "MERGE"}, token):
		return fmt.Errorf("it writes (%s); a source only reads", token)
	}
	return nil
}

// next gives the next word in upper case, the next piece of punctuation, "”" for text and names in quotes, or "" at the end.
func (s *scanner) next() (string, error) {
	if err := s.skip(); err != nil {
		return "", err
	}
	if s.at == len(s.text) {
		return "", nil
	}
	start := s.at
	c := s.text[s.at]
	switch {
	case wordByte(c):
		for s.at < len(s.text) && (wordByte(s.text[s.at]) || s.text[s.at] == '$') {
			s.at++
		}
		word := strings.ToUpper(s.text[start:s.at])
		if word == "E" && s.driver == driverPostgres && strings.HasPrefix(s.text[s.at:], "'") {
			return "''", s.quoted('\'', true)
		}
		return word, nil
	case c == '\'', c == '"':
		return "''", s.quoted(c, s.driver == driverMySQL)
	case c == '`' && s.driver != driverPostgres:
		return "''", s.quoted(c, false)
	case c == '[' && s.driver == driverSQLite:
		return "''", s.quoted(']', false)
	case c == '$' && s.driver == driverPostgres:
		return s.dollar()
	}
	s.at++
	return s.text[start:s.at], nil
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// skip passes white space and comments.
func (s *scanner) skip() error {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case strings.ContainsRune(" \t\r\n\f\v", rune(rest[0])):
			s.at++
		case strings.HasPrefix(rest, "--"), rest[0] == '#' && s.driver == driverMySQL:
			if line := strings.IndexByte(rest, '\n'); line >= 0 {
				s.at += line + 1
			} else {
				s.at = len(s.text)
			}
		case strings.HasPrefix(rest, "/*!") && s.driver == driverMySQL, strings.HasPrefix(rest, "/*M!") && s.driver == driverMySQL:
			return errors.New("it has a comment that is executed (/*!); write it without")
		case strings.HasPrefix(rest, "/*"):
			if err := s.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// comment passes a comment in /* */; in PostgreSQL they nest.
func (s *scanner) comment() error {
	depth := 1
	for s.at += 2; s.at < len(s.text); {
		switch rest := s.text[s.at:]; {
		case strings.HasPrefix(rest, "*/"):
			s.at += 2
			if depth--; depth == 0 {
				return nil
			}
		case strings.HasPrefix(rest, "/*") && s.driver == driverPostgres:
			s.at += 2
			depth++
		default:
			s.at++
		}
	}
	return errors.New("a comment does not end")
}

// quoted passes what stands in quotes, up to the byte end; a doubled one is part of it.
func (s *scanner) quoted(end byte, backslashes bool) error {
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\' && backslashes:
			s.at++
		case c == end && s.at+1 < len(s.text) && s.text[s.at+1] == end && end != ']':
			s.at++
		case c == end:
			s.at++
			return nil
		}
	}
	return errors.New("text in quotes does not end")
}

// dollar passes text in PostgreSQL's $tag$ quotes, or gives a parameter such as $1.
func (s *scanner) dollar() (string, error) {
	start := s.at
	for s.at++; s.at < len(s.text) && wordByte(s.text[s.at]); s.at++ {
	}
	if s.at == len(s.text) || s.text[s.at] != '$' {
		return s.text[start:s.at], nil
	}
	s.at++
	tag := s.text[start:s.at]
	end := strings.Index(s.text[s.at:], tag)
	if end < 0 {
		return "", fmt.Errorf("text in %s quotes does not end", tag)
	}
	s.at += end + len(tag)
	return "''", nil
}
