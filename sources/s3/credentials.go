package s3

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/kbsync/kbsync/connector"
)

// staticCredentials are those of the configuration; nil leaves them to where the AWS tools look.
func staticCredentials(c *Config) aws.CredentialsProvider {
	switch {
	case c.Anonymous:
		return aws.AnonymousCredentials{}
	case c.AccessKey != "":
		return credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey.Reveal(), c.SessionToken.Reveal())
	}
	return nil
}

// credentialsOf assumes the role, if there is one, and tells failures to get credentials from those of the store.
func credentialsOf(c *Config, cfg aws.Config) aws.CredentialsProvider {
	if c.Anonymous {
		return cfg.Credentials
	}
	from := cfg.Credentials
	if c.RoleARN != "" {
		from = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), c.RoleARN, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = "kbsync"
			if c.ExternalID != "" {
				o.ExternalID = aws.String(c.ExternalID)
			}
		}))
	}
	return aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		got, err := from.Retrieve(ctx)
		if err != nil {
			return got, noCredentials(err)
		}
		return got, nil
	})
}

// noCredentials: a token service that is overloaded may answer later; without credentials for any other reason nothing will work.
func noCredentials(err error) error {
	class := connector.ClassCredentials
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) && (answer.HTTPStatusCode() == 429 || answer.HTTPStatusCode() >= 500) {
		class = connector.ClassTransient
	}
	return connector.Errorf(class, "no credentials: %w; set access_key and secret_key, profile or the AWS_* variables, or anonymous for a public bucket", err)
}
