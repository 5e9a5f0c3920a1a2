package httpsource

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// refusedError says that an address is none of the public internet.
type refusedError struct{ address string }

func (e *refusedError) Error() string {
	return fmt.Sprintf("the address %s is private, local or reserved; set allow_private to fetch it", e.address)
}

// reserved are the networks that are not of the public internet, beside those that net/netip knows (IANA special-purpose registries).
func reserved() []netip.Prefix {
	var out []netip.Prefix
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// public says whether an address is one of the public internet, and so are those that it carries inside (IPv4-mapped, IPv4-compatible,
// NAT64, 6to4, ISATAP).
func public(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, p := range reserved() {
		if p.Contains(addr) {
			return false
		}
	}
	if addr.Is4() {
		return true
	}
	b := addr.As16()
	inside := func(at int) bool { return public(netip.AddrFrom4([4]byte(b[at : at+4]))) }
	switch {
	case netip.MustParsePrefix("::/96").Contains(addr), netip.MustParsePrefix("64:ff9b::/96").Contains(addr):
		return inside(12)
	case netip.MustParsePrefix("2002::/16").Contains(addr):
		return inside(2)
	case b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return inside(12)
	}
	return true
}

// checkAddress runs when a connection is about to be made, on the very address that it is made to: no name can be resolved anew
// between check and use.
func checkAddress(_ context.Context, network, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" || !public(ap.Addr()) {
		return &refusedError{address}
	}
	return nil
}

// newTransport makes connections for this source alone. Bytes arrive as they are sent: a listing by HEAD and a reading by GET then speak of the same
// representation, which net/http's own decompression would not.
func newTransport(c *Config, resolver *net.Resolver) (*http.Transport, error) {
	dialer := &net.Dialer{Timeout: min(c.Timeout, 30*time.Second), KeepAlive: 30 * time.Second, Resolver: resolver}
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    min(c.Timeout, 30*time.Second),
		ResponseHeaderTimeout:  c.Timeout,
		MaxResponseHeaderBytes: 256 << 10,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        time.Minute,
		DisableCompression:     true,
	}
	proxy, err := c.proxyURL()
	if err != nil {
		return nil, err
	}
	switch {
	case proxy != nil:
		t.Proxy = http.ProxyURL(proxy) // the user named its address; those behind it are beyond a check
	case !c.AllowPrivate:
		dialer.ControlContext = checkAddress
	}
	return t, nil
}

// checkLiteral refuses what needs no resolver to be known as private: all that can be checked behind a proxy.
func checkLiteral(host string) error {
	if addr, err := netip.ParseAddr(host); err == nil && !public(addr) {
		return &refusedError{host}
	}
	if host == "localhost" || len(host) > 10 && host[len(host)-10:] == ".localhost" {
		return &refusedError{host}
	}
	return nil
}

var _ error = (*refusedError)(nil)

// isRefused says whether an address was refused on the way.
func isRefused(err error) bool {
	var r *refusedError
	return errors.As(err, &r)
}
