package milvus

import (
	"context"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/remote"
)

// Properties of a collection that the sink sets. The description says the same as propertyMeta, for people; Milvus Lite keeps no
// descriptions.
const (
	propertyMeta  = "kbsync.meta"
	propertyStamp = "kbsync.stamp"
)

var _ connector.Stamper = (*Collection)(nil)

// Stamp implements [connector.Stamper].
func (c *Collection) Stamp(ctx context.Context) (string, error) {
	d, err := c.described(ctx)
	if err != nil {
		return "", c.fail(ctx, "stamp", err)
	}
	return d.Properties[propertyStamp], nil
}

// SetStamp implements [connector.Stamper].
func (c *Collection) SetStamp(ctx context.Context, stamp string) error {
	if err := c.server.write(func() error { return c.server.AlterCollection(ctx, c.name, property{propertyStamp, stamp}) }); err != nil {
		return c.fail(ctx, "stamp", err)
	}
	return nil
}

func (c *Collection) described(ctx context.Context) (*entity.Collection, error) {
	d, err := c.server.described(ctx, c.name)
	if err == nil && d == nil {
		err = connector.Errorf(connector.ClassNotFound, "the collection is gone")
	}
	return d, err
}

func metaOf(d *entity.Collection) (remote.Meta, bool) {
	if meta, ok := remote.ParseMeta(d.Properties[propertyMeta]); ok {
		return meta, true
	}
	return remote.ParseMeta(d.Schema.Description)
}

// property is a property of a collection as the SDK wants it.
type property struct{ key, value string }

// KeyValue implements [entity.CollectionAttribute].
func (p property) KeyValue() (key, value string) { return p.key, p.value }

// Valid implements [entity.CollectionAttribute].
func (p property) Valid() error { return nil }
