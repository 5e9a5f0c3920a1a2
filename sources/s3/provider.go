package s3

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"

	"github.com/kbsync/kbsync/internal/objects"
)

// provider is S3 for the shared source.
type provider struct {
	config Config
	client *s3.Client
}

var _ objects.Provider = (*provider)(nil)

func (p *provider) payer() types.RequestPayer {
	if p.config.RequesterPays {
		return types.RequestPayerRequester
	}
	return ""
}

// BeforeList asks for keys that survive XML.
func (p *provider) BeforeList(as func(any) bool, prefix string) error {
	var in *s3.ListObjectsV2Input
	if !as(&in) {
		return errors.New("the request of a listing has another type than expected")
	}
	if prefix != "" {
		in.Prefix = aws.String(prefix)
	}
	in.EncodingType = types.EncodingTypeUrl
	in.RequestPayer = p.payer()
	return nil
}

// Entry takes key and ETag as the listing has them.
func (p *provider) Entry(o *blob.ListObject) (objects.Entry, error) {
	var listed types.Object
	if !o.As(&listed) {
		return objects.Entry{}, errors.New("an object of a listing has another type than expected")
	}
	return objects.Entry{Key: aws.ToString(listed.Key), Version: objects.ETag(aws.ToString(listed.ETag))}, nil
}

// Read is one GetObject.
func (p *provider) Read(ctx context.Context, key string, from int64) (objects.Reading, error) {
	in := &s3.GetObjectInput{Bucket: aws.String(p.config.Bucket), Key: aws.String(key), RequestPayer: p.payer()}
	if from > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", from))
	}
	out, err := p.client.GetObject(ctx, in)
	if err != nil {
		return objects.Reading{}, err
	}
	r := objects.Reading{
		Body: out.Body, Size: -1, Version: objects.ETag(aws.ToString(out.ETag)),
		ContentType: aws.ToString(out.ContentType), ContentEncoding: aws.ToString(out.ContentEncoding),
		ModTime: aws.ToTime(out.LastModified), Metadata: userMetadata(out.Metadata),
	}
	if out.ContentLength != nil {
		r.Size = *out.ContentLength
	}
	if out.ContentRange != nil {
		r.Start, r.Size = contentRange(*out.ContentRange)
	}
	return r, nil
}

// contentRange reads "bytes 10-14/27"; the size is -1 where it is unknown.
func contentRange(s string) (start, size int64) {
	span, total, _ := strings.Cut(strings.TrimPrefix(s, "bytes "), "/")
	first, _, _ := strings.Cut(span, "-")
	start, err1 := strconv.ParseInt(first, 10, 64)
	size, err2 := strconv.ParseInt(total, 10, 64)
	if err1 != nil || err2 != nil {
		size = -1
	}
	return start, size
}

// userMetadata undoes what S3 does to values that are not ASCII.
func userMetadata(m map[string]string) map[string]string {
	var decoder mime.WordDecoder
	for k, v := range m {
		if strings.Contains(v, "=?") {
			if plain, err := decoder.DecodeHeader(v); err == nil {
				m[k] = plain
			}
		}
	}
	return m
}

// Tags is one GetObjectTagging.
func (p *provider) Tags(ctx context.Context, key string) (map[string]string, error) {
	out, err := p.client.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{Bucket: aws.String(p.config.Bucket), Key: aws.String(key), RequestPayer: p.payer()})
	if err != nil {
		return nil, err
	}
	tags := make(map[string]string, len(out.TagSet))
	for _, t := range out.TagSet {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags, nil
}
