package chroma

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// newClient calls the server; paths are below `…/collections`.
func newClient(c *Config) *remote.JSONClient {
	return (&remote.JSONClient{
		Base:       fmt.Sprintf("%s/api/v2/tenants/%s/databases/%s/collections", c.Address, url.PathEscape(c.Tenant), url.PathEscape(c.Database)),
		Timeout:    c.Timeout,
		MaxRequest: maxRequest,
		Authorize: func(r *http.Request) {
			if token := c.APIKey.Reveal(); token != "" {
				r.Header.Set("X-Chroma-Token", token)
			}
		},
		Refused: refused,
	}).Open()
}

// refused is the error of an answer; the server says `{"error": kind, "message": text}`.
func refused(status int, header http.Header, body []byte) error {
	text := string(body)
	var told struct{ Error, Message string }
	if json.Unmarshal(body, &told) == nil && told.Message != "" {
		text = told.Error + ": " + told.Message
	}
	if strings.Contains(text, "UNIQUE constraint failed: collections.name") {
		return connector.Errorf(connector.ClassConflict, "the name is taken: %s", text)
	}
	return remote.HTTP(status, header, text)
}
