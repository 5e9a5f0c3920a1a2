package opensearch

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// maxRequest is below the server's own limit of 100 MB, at which it hangs up in the middle.
const maxRequest = 90 << 20

func newClient(c *Config) *remote.JSONClient {
	return (&remote.JSONClient{
		Base: c.Address, Timeout: c.Timeout, MaxRequest: maxRequest,
		Authorize: func(r *http.Request) {
			if c.Username != "" {
				r.SetBasicAuth(c.Username, c.Password.Reveal())
			}
		},
		Refused: func(status int, header http.Header, body []byte) error {
			var told struct{ Error json.RawMessage }
			if json.Unmarshal(body, &told) != nil || told.Error == nil {
				told.Error = body
			}
			return refusal(status, header, string(told.Error))
		},
	}).Open()
}

// refusal classifies an answer, or one item's; text is the error as the server spells it.
func refusal(status int, header http.Header, text string) error {
	has := func(what string) bool { return strings.Contains(text, what) }
	err := remote.HTTP(status, header, text)
	switch {
	case has("resource_already_exists_exception"), has("invalid_alias_name_exception"), has("already exists as alias"):
		return connector.Errorf(connector.ClassConflict, "the name is taken by an index or alias that kbsync did not make, or in_place was changed: %w", err)
	case has("flood-stage"), has("read-only-allow-delete"), has("read_only_allow_delete"):
		return connector.Errorf(connector.ClassFull, "%w", err)
	case has("index_not_found_exception"):
		return connector.Errorf(connector.ClassNotFound, "%w", err)
	case has("cluster_block_exception"): // it is starting, or has no master
		return connector.Errorf(connector.ClassTransient, "%w", err)
	}
	return err
}
