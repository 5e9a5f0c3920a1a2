package providers

import (
	"net/url"
	"slices"
	"strings"
)

// FindService chooses among services that speak one protocol: the one that is named, else the one whose host baseURL has, else the last,
// which is for all others; the first where neither is given. known tells a service's name and hosts, each a whole host or, with a
// leading dot, its end.
func FindService[S any](all []S, known func(S) (name string, hosts []string), name, baseURL string) S {
	if name == "" && baseURL == "" {
		return all[0]
	}
	host := ""
	if u, err := url.Parse(baseURL); err == nil {
		host = strings.ToLower(u.Hostname())
	}
	for _, s := range all {
		its, hosts := known(s)
		here := slices.ContainsFunc(hosts, func(h string) bool { return host == h || h[0] == '.' && strings.HasSuffix(host, h) })
		if its == name || name == "" && here {
			return s
		}
	}
	return all[len(all)-1]
}
