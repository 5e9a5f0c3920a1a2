package milvus

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/milvus-io/milvus-sdk-go/v2/client"

	"github.com/kbsync/kbsync/connector"
)

// Scan implements [connector.Collection].
func (c *Collection) Scan(ctx context.Context, vectors bool) iter.Seq2[connector.Point, error] {
	return func(yield func(connector.Point, error) bool) {
		for columns, err := range c.pages(ctx, "", c.output(vectors), c.pageSize(vectors)) {
			var points []connector.Point
			if err == nil {
				var r *reader
				if r, err = c.newReader(columns, nil, vectors); err == nil {
					points, err = r.points()
				}
			}
			if err != nil {
				yield(connector.Point{}, c.fail(ctx, "scan", err))
				return
			}
			for _, p := range points {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// pageSize keeps a page of ordinary chunks within bounds.
func (c *Collection) pageSize(vectors bool) int {
	row := 8 << 10
	if vectors {
		row += 4 * c.meta.Schema.Dimensions
	}
	return max(10, min(scanPage, bytesOfPage/row))
}

// pages yields the rows that meet an expression by ascending id, page by page, by the last id seen. Only the SDK's iterator asks
// the server for that order.
func (c *Collection) pages(ctx context.Context, expr string, output []string, size int) iter.Seq2[client.ResultSet, error] {
	return func(yield func(client.ResultSet, error) bool) {
		var it *client.QueryIterator
		err := c.loaded(ctx, func() (err error) {
			opt := client.NewQueryIteratorOption(c.name).WithBatchSize(size).WithExpr(expr).WithOutputFields(output...)
			it, err = c.server.QueryIterator(ctx, opt)
			return err
		})
		if err == nil && it == nil {
			return // no rows
		}
		for err == nil {
			if err = ctx.Err(); err != nil {
				break
			}
			var page client.ResultSet
			if page, err = it.Next(ctx); errors.Is(err, io.EOF) || errors.Is(err, errNoRows) || err == nil && page.Len() == 0 {
				return
			}
			if err == nil && !yield(page, nil) {
				return
			}
		}
		yield(nil, err)
	}
}
