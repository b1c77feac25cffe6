package imagepuller

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Messages for failure causes. The text of the runtime follows the message.
const (
	refused         = "the registry rejects the credentials"
	noCredentials   = "the registry requires credentials, and no pull secret or credential provider plugin provides them"
	absent          = "the image or tag does not exist in the registry"
	noPlatform      = "the image has no variant for this node's platform"
	throttled       = "the registry limits the pulls of this node"
	unreachable     = "the registry cannot be reached"
	silent          = "the registry does not answer in time"
	untrusted       = "the connection to the registry is not trusted"
	interrupted     = "the connection to the registry broke during the pull"
	registryFailure = "the registry has an internal error"
	corrupt         = "the content from the registry does not match its digest"
	diskFull        = "the disk of the node is full"
	lost            = "the container runtime of the node has lost content of the image; remove the image from the node"
	noRuntime       = "the container runtime of the node does not answer"
)

// cause maps runtime errors to a message. Runtimes return nearly all failures with the code Unknown, so only the
// error text shows the cause. No other code parses that text. phrases are in lower case.
type cause struct {
	words   string
	codes   []codes.Code
	phrases []string
}

// causes is searched in order. An error text may contain phrases of several causes; the earlier entry is closer to
// the root cause. Codes come last, because a runtime may attach a code to an error that it only forwards.
var causes = []cause{
	// These are errors of the connection to the runtime itself.
	{noRuntime, nil, []string{
		"transport: error while dialing", "error reading from server", "error reading server preface", "transport is closing",
	}},
	{diskFull, nil, []string{"no space left on device", "disk quota exceeded"}},
	{noPlatform, nil, []string{"no match for platform", "no matching manifest for", "no image found in image index for architecture"}},
	{throttled, nil, []string{"429 too many requests", "toomanyrequests"}},
	{untrusted, nil, []string{"x509: ", "tls: ", "server gave http response to https client"}},
	{refused, nil, []string{
		"401 unauthorized", "403 forbidden", "authorization failed", "no basic auth credentials", "access denied", "is denied",
		"authentication required", "unauthorized",
	}},
	{silent, nil, []string{"i/o timeout", "tls handshake timeout", "client.timeout exceeded", "timeout awaiting response headers"}},
	{unreachable, nil, []string{
		"connection refused", "no such host", "no route to host", "network is unreachable", "host is down", "server misbehaving",
	}},
	{interrupted, nil, []string{
		"unexpected eof", "connection reset by peer", "broken pipe", "failed size validation", ": eof", "http2: ",
	}},
	{corrupt, nil, []string{"unexpected commit digest", "failed digest validation"}},
	{registryFailure, nil, []string{
		"500 internal server error", "502 bad gateway", "503 service unavailable", "504 gateway timeout",
	}},
	// The phrase contains "not found", a phrase of absent, so this entry must come first.
	{lost, nil, []string{"blob not found"}},
	{absent, nil, []string{"not found", "manifest unknown", "name unknown"}},
	{errReference.Error(), nil, []string{"invalid reference format"}},
	{absent, []codes.Code{codes.NotFound}, nil},
	{refused, []codes.Code{codes.PermissionDenied, codes.Unauthenticated}, nil},
	{errReference.Error(), []codes.Code{codes.InvalidArgument}, nil},
	{noRuntime, []codes.Code{codes.Unavailable}, nil},
}

// explain puts the message of the cause in front of the runtime's text. If the cause is unknown, it returns the text
// alone. If the runtime did not answer, the error is an awayError. offered says whether the pull had credentials,
// which decides what a refusal means.
func explain(err error, ref imageReference, offered bool) error {
	if err == nil {
		return nil
	}
	// An image name may contain a phrase, so remove the name before the search.
	text := strings.ToLower(strings.NewReplacer(ref.full, "", ref.repository, "").Replace(err.Error()))
	code := status.Code(err)
	i := slices.IndexFunc(causes, func(c cause) bool {
		return slices.Contains(c.codes, code) ||
			slices.ContainsFunc(c.phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
	})
	if i < 0 {
		return err
	}
	words := causes[i].words
	if words == noRuntime && len(causes[i].phrases) > 0 { // A code alone may come from the registry.
		return awayError{noRuntime, err}
	}
	if words == refused && !offered {
		words = noCredentials
	}
	return fmt.Errorf("%s: %w", words, err)
}
