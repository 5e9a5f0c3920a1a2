package azblob

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/kbsync/kbsync/connector"
	"github.com/kbsync/kbsync/internal/objects"
)

// newClient makes the client, which never retries, and the transport whose idle connections are to be closed at the end. Nothing is
// sent.
func newClient(c *Config) (*container.Client, *http.Transport, error) {
	wire, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		wire = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	wire = wire.Clone()
	wire.MaxIdleConnsPerHost = 32
	wire.DisableCompression = true           // else Go unpacks what is stored packed, and takes its size and its label away
	wire.ResponseHeaderTimeout = time.Minute // a server that takes a request and never answers
	a, err := c.access()
	if err != nil {
		return nil, nil, connector.Errorf(connector.ClassCredentials, "azblob: %w", err)
	}
	base := azcore.ClientOptions{
		Retry: policy.RetryOptions{MaxRetries: -1},
		Transport: &http.Client{
			Transport:     &transport{base: wire, sas: a.sas},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the signature goes to nobody else
		},
	}
	opts, where := &container.ClientOptions{ClientOptions: base}, a.endpoint+"/"+c.Container
	var client *container.Client
	switch {
	case a.key != "":
		var key *container.SharedKeyCredential
		if key, err = container.NewSharedKeyCredential(a.account, a.key); err != nil {
			// The SDK's error quotes the key.
			return nil, nil, connector.Errorf(connector.ClassCredentials, "azblob: the account key is not base64; copy it whole")
		}
		client, err = container.NewClientWithSharedKeyCredential(where, key, opts)
	case a.sas != "" || c.Anonymous:
		client, err = container.NewClientWithNoCredential(where, opts)
	default:
		var identity *azidentity.DefaultAzureCredential
		// Fetching a token is repeated by the SDK, a few times: a machine's identity service may be late.
		token := azcore.ClientOptions{Transport: &http.Client{Transport: wire}}
		if identity, err = azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: token}); err != nil {
			return nil, nil, connector.Errorf(connector.ClassCredentials, "azblob: no identity: %w; set account_key, sas_token or connection_string, or run az login", err)
		}
		client, err = container.NewClient(where, identity, opts)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("azblob: client: %w", err)
	}
	return client, wire, nil
}

// access is where the account is and by what right it is read.
type access struct{ account, endpoint, key, sas string }

func (c *Config) access() (access, error) {
	if c.ConnectionString != "" {
		return parseConnectionString(c.ConnectionString.Reveal())
	}
	a := access{account: c.Account, endpoint: strings.TrimRight(c.Endpoint, "/"), key: c.AccountKey.Reveal(), sas: strings.TrimPrefix(c.SASToken.Reveal(), "?")}
	if a.endpoint == "" {
		a.endpoint = "https://" + c.Account + ".blob.core.windows.net"
	}
	return a, nil
}

// The account that every Azurite has, which UseDevelopmentStorage=true stands for.
const (
	devAccount  = "devstoreaccount1"
	devEndpoint = "http://127.0.0.1:10000/" + devAccount
	devKey      = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// parseConnectionString reads what the portal shows; no error quotes it.
func parseConnectionString(s string) (access, error) {
	values := map[string]string{"defaultendpointsprotocol": "https", "endpointsuffix": "core.windows.net"}
	for part := range strings.SplitSeq(s, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		k, v, ok := strings.Cut(part, "=")
		if !ok {
			return access{}, errors.New("expected KEY=VALUE pairs with semicolons between them, as the portal shows them")
		}
		values[strings.ToLower(strings.TrimSpace(k))] = strings.TrimSpace(v)
	}
	if strings.EqualFold(values["usedevelopmentstorage"], "true") {
		return access{account: devAccount, endpoint: devEndpoint, key: devKey}, nil
	}
	a := access{account: values["accountname"], endpoint: values["blobendpoint"], key: values["accountkey"], sas: strings.TrimPrefix(values["sharedaccesssignature"], "?")}
	if a.endpoint == "" && a.account != "" {
		a.endpoint = values["defaultendpointsprotocol"] + "://" + a.account + ".blob." + values["endpointsuffix"]
	}
	a.endpoint = strings.TrimRight(a.endpoint, "/")
	switch {
	case a.endpoint == "" || checkEndpoint(a.endpoint) != nil:
		return access{}, errors.New("names neither AccountName nor a BlobEndpoint")
	case a.key != "" && a.account == "":
		return access{}, errors.New("has an AccountKey without AccountName")
	case a.key == "" && a.sas == "":
		return access{}, errors.New("has neither AccountKey nor SharedAccessSignature")
	}
	return a, nil
}

// transport signs with the shared access signature, which so stands in no error's URL, and checks that a listing is one: the parser
// panics on what is not.
type transport struct {
	base http.RoundTripper
	sas  string
}

// RoundTrip is part of http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	listing := r.URL.Query().Get("comp") == "list"
	if t.sas != "" {
		r = r.Clone(r.Context())
		if r.URL.RawQuery != "" {
			r.URL.RawQuery += "&"
		}
		r.URL.RawQuery += t.sas
	}
	answer, err := t.base.RoundTrip(r)
	if err != nil || !listing || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	if err := objects.CheckPage(answer, checkPage); err != nil {
		return nil, err
	}
	return answer, nil
}

// checkPage looks for the elements that the SDK and gocloud.dev take for granted.
func checkPage(page []byte) error {
	blobs := bytes.Count(page, []byte("<Blob>"))
	empty := bytes.Contains(page, []byte("<Blobs />")) || bytes.Contains(page, []byte("<Blobs/>"))
	switch {
	case !bytes.Contains(page, []byte("<EnumerationResults")), !empty && !bytes.Contains(page, []byte("</Blobs>")):
		return objects.ErrNoListing
	}
	for _, name := range []string{"<Properties>", "<Name", "<Last-Modified>", "<Content-Length>"} {
		if bytes.Count(page, []byte(name)) < blobs {
			return objects.ErrNoListing
		}
	}
	return nil
}
