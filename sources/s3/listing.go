package s3

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
)

// addListingCheck stands between the SDK, which takes any XML and an empty body for a listing without objects, and everybody who would
// delete on its strength.
func addListingCheck(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("kbsync:listing",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, meta, err := next.HandleInitialize(ctx, in)
			if page, ok := out.Result.(*s3.ListObjectsV2Output); ok && err == nil {
				err = checkListing(page)
				asked, ok := in.Parameters.(*s3.ListObjectsV2Input)
				if ok && err == nil && page.NextContinuationToken != nil && aws.ToString(asked.ContinuationToken) == *page.NextContinuationToken {
					err = errSameToken
				}
			}
			return out, meta, err
		}), middleware.Before)
}

var (
	errNoListing = errors.New("the answer is no listing of a bucket; is endpoint the store's S3 API, and no proxy's page?")
	errSameToken = errors.New("the server gives the same page again and again")
	errNoToken   = errors.New("the listing goes on, and the server does not say where")
	errNoKey     = errors.New("the listing holds an object without a key or with one that is spoilt")
)

// checkListing refuses what is no complete page, and brings keys into their own form.
func checkListing(page *s3.ListObjectsV2Output) error {
	switch {
	case page.IsTruncated == nil || page.Name == nil:
		return errNoListing
	case *page.IsTruncated && aws.ToString(page.NextContinuationToken) == "":
		return errNoToken
	case !*page.IsTruncated:
		page.NextContinuationToken = nil
	}
	for i := range page.Contents {
		o := &page.Contents[i]
		if o.LastModified == nil {
			o.LastModified = &time.Time{} // gocloud.dev takes it for granted
		}
		if page.EncodingType == types.EncodingTypeUrl && o.Key != nil {
			key, err := url.QueryUnescape(*o.Key)
			if err != nil {
				return errNoKey
			}
			o.Key = &key
		}
		if aws.ToString(o.Key) == "" {
			return errNoKey
		}
	}
	return nil
}
