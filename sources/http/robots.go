package httpsource

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kbsync/kbsync/connector"
)

// maxRobots is how much of a robots.txt is read (RFC 9309, 2.5).
const maxRobots = 512 << 10

// robots are the rules of one host for one robot.
type robots struct {
	rules []rule
	delay time.Duration
}

// rule is an Allow or Disallow line.
type rule struct {
	allow    bool
	pattern  string // canonical escapes, * for anything
	anchored bool   // $: up to the end
}

// robotsOf fetches the rules of u's host: 4xx means that there are none, any other failure that nothing may be fetched now (RFC 9309, 2.3.1).
func (s *Source) robotsOf(ctx context.Context, u *url.URL) (*robots, error) {
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	a, err := s.fetch(ctx, http.MethodGet, at, nil, patience*s.config.Timeout)
	if _, lost := asRedirect(err); lost {
		return &robots{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.body.Close() }()
	if err := s.success(a); err != nil {
		switch class := connector.ClassOf(err); {
		case class == connector.ClassThrottled, class == connector.ClassCredentials:
			return nil, err
		case a.StatusCode >= 400 && a.StatusCode < 500:
			return &robots{}, nil
		case a.StatusCode >= 500:
			return nil, connector.Errorf(connector.ClassTransient, "%w; until robots.txt can be had, nothing may be fetched", err)
		}
		return nil, err
	}
	r, err := a.content(0)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxRobots))
	if err != nil {
		return nil, err
	}
	return parseRobots(text, s.robot), nil
}

// parseRobots takes the groups that name the robot, or else those for all. Lines that say nothing known are passed over.
func parseRobots(text []byte, robot string) *robots {
	var own, all robots
	named := false            // a group names the robot
	mine, any := false, false // the group at hand is for the robot, for all
	agents := false           // the line before was a User-agent
	lines := bufio.NewScanner(bytes.NewReader(bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), []byte("\r"), []byte("\n"))))
	lines.Buffer(nil, maxRobots+1)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		key, value, _ := strings.Cut(line, ":")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "user-agent":
			if !agents {
				mine, any = false, false
			}
			agents = true
			mine = mine || robot != "" && productToken(value) == robot
			any = any || value == "*"
			named = named || mine
			continue
		case "allow", "disallow", "crawl-delay":
			for _, group := range []struct {
				r  *robots
				on bool
			}{{&own, mine}, {&all, any}} {
				if group.on {
					group.r.add(key, value)
				}
			}
			agents = false
		}
	}
	if named {
		return &own
	}
	return &all
}

func (r *robots) add(key, value string) {
	if key == "crawl-delay" {
		if n, err := strconv.ParseFloat(value, 64); err == nil && n > 0 && n < 1e6 {
			r.delay = time.Duration(n * float64(time.Second))
		}
		return
	}
	if value == "" {
		return // "Disallow:" forbids nothing
	}
	pattern, anchored := strings.CutSuffix(value, "$")
	for strings.Contains(pattern, "**") {
		pattern = strings.ReplaceAll(pattern, "**", "*")
	}
	r.rules = append(r.rules, rule{key == "allow", canonicalEscapes(pattern, true), anchored})
}

// allowed asks the longest rule that matches; of equal ones, Allow prevails (RFC 9309, 2.2.2).
func (r *robots) allowed(u *url.URL) bool {
	target := u.EscapedPath()
	if u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	best, allow := -1, true
	for _, rule := range r.rules {
		length := len(rule.pattern)
		if (length > best || length == best && rule.allow) && rule.matches(target) {
			best, allow = length, rule.allow
		}
	}
	return allow
}

// matches compares in linear time for each star: no regular expression that could blow up.
func (r *rule) matches(target string) bool {
	parts := strings.Split(r.pattern, "*")
	rest, ok := strings.CutPrefix(target, parts[0])
	if !ok {
		return false
	}
	if len(parts) == 1 {
		return !r.anchored || rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	if r.anchored {
		return strings.HasSuffix(rest, parts[last])
	}
	return strings.Contains(rest, parts[last])
}

// directives are what a page's headers or meta elements ask of robots.
type directives struct{ noindex, nofollow bool }

// read takes a list such as "noindex, nofollow" or, in a header, "otherbot: noindex".
func (d *directives) read(list, robot string) {
	if name, rest, ok := strings.Cut(list, ":"); ok && !strings.ContainsAny(name, ", ") && !strings.EqualFold(strings.TrimSpace(name), "unavailable_after") {
		if !strings.EqualFold(strings.TrimSpace(name), robot) {
			return
		}
		list = rest
	}
	for _, word := range strings.Split(list, ",") {
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "noindex":
			d.noindex = true
		case "nofollow":
			d.nofollow = true
		case "none":
			d.noindex, d.nofollow = true, true
		}
	}
}

// errRobots says that a start may not be fetched.
var errRobots = errors.New("robots.txt disallows it; set robots: false if the site is yours")
