package weaviate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

var _ connector.Stamper = (*Collection)(nil)

// description is a class's description: what every collection says of itself, and the stamp.
type description struct {
	remote.Meta
	Stamp string `json:"stamp,omitempty"`
}

// tenantNote is what a tenant says of itself, in an object with an id of its own: unlike a class, it has no description.
type tenantNote struct {
	Marker string `json:"marker"`
	Stamp  string `json:"stamp,omitempty"`
}

const tenantNoteID = "5d1c1f3e-6b0a-5c8e-9e55-6b62737963aa"

// Stamp implements [connector.Stamper].
func (c *Collection) Stamp(ctx context.Context) (string, error) {
	if c.tenant() != nil {
		note, err := c.readNote(ctx)
		return note.Stamp, c.wrap("stamp", err)
	}
	_, d, err := c.describe(ctx)
	return d.Stamp, c.wrap("stamp", err)
}

// SetStamp implements [connector.Stamper].
func (c *Collection) SetStamp(ctx context.Context, stamp string) error {
	if c.tenant() != nil {
		note, err := c.readNote(ctx)
		if err == nil {
			note.Stamp = stamp
			err = c.writeNote(ctx, note)
		}
		return c.wrap("stamp", err)
	}
	class, d, err := c.describe(ctx)
	if err != nil {
		return c.wrap("stamp", err)
	}
	d.Stamp = stamp
	text, err := json.Marshal(d)
	if err == nil {
		class["description"], err = json.Marshal(string(text))
	}
	if err == nil {
		err = c.sink.rest.do(ctx, http.MethodPut, "/schema/"+url.PathEscape(c.class), class, nil)
	}
	return c.wrap("stamp", err)
}

// describe reads the class, with every field as the server says it, so that it can be put back whole; an error of ClassNotFound if
// it is not the one that was opened.
func (c *Collection) describe(ctx context.Context) (map[string]json.RawMessage, description, error) {
	var class map[string]json.RawMessage
	var d description
	if err := c.sink.rest.do(ctx, http.MethodGet, "/schema/"+url.PathEscape(c.class), nil, &class); err != nil {
		return nil, d, err
	}
	var name, text string
	if err := json.Unmarshal(class["class"], &name); err != nil {
		return nil, d, fmt.Errorf("the schema's answer is not as expected: %w", err)
	}
	if json.Unmarshal(class["description"], &text) != nil || json.Unmarshal([]byte(text), &d) != nil || name != c.class || d.Marker != c.classMarker {
		return nil, d, connector.Errorf(connector.ClassNotFound, "class %s was deleted and made anew by somebody else", c.class)
	}
	return class, d, nil
}

// openNote reads the tenant's marker, and makes it if it is missing.
func (c *Collection) openNote(ctx context.Context) (string, error) {
	note, err := c.readNote(ctx)
	if err != nil || note.Marker != "" {
		return note.Marker, err
	}
	note.Marker = rand.Text()
	return note.Marker, c.writeNote(ctx, note)
}

func (c *Collection) readNote(ctx context.Context) (note tenantNote, err error) {
	name := c.sink.names[fieldRecord]
	reply, err := c.search(ctx, &pb.SearchRequest{
		Limit: 1, Filters: idFilter([]string{tenantNoteID}), Properties: &pb.PropertiesRequest{NonRefProperties: []string{name}},
	})
	if err != nil || len(reply.GetResults()) == 0 {
		return note, err
	}
	err = json.Unmarshal([]byte(textOf(reply.GetResults()[0].GetProperties().GetNonRefProps().GetFields()[name])), &note)
	return note, err
}

func (c *Collection) writeNote(ctx context.Context, note tenantNote) error {
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	object := c.object(tenantNoteID)
	set(object, c.sink.names[fieldRecord], string(text))
	failed, err := c.send(ctx, []*pb.BatchObject{object})
	if err == nil && len(failed) > 0 {
		err = failed[0]
	}
	return err
}
