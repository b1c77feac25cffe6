package imagepuller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/nodeagent/credentials"
)

// timeoutError is the cause of an attempt that ran out of time. Its text is the message in the status.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string {
	return fmt.Sprintf("the pull did not finish within %v (pullPolicy.timeoutSeconds); check the registry, or raise the timeout",
		e.after)
}

// present returns the image ID if the runtime has the image. It returns an empty string if the image is absent or the
// pull policy is Always.
func (c *Controller) present(ctx context.Context, t *task) (string, error) {
	ref, err := newReference(t.imageTag)
	if err != nil || t.always {
		return "", err
	}
	// Without a runtime, the pull tells why.
	images, err := c.config.Images(ctx)
	if err != nil {
		return "", nil //nolint:nilerr // See above.
	}
	response, err := images.ImageStatus(ctx, &runtimeapi.ImageSpec{Image: ref.full}, false)
	if err != nil {
		// A failing runtime reports its error again when the pull starts.
		klog.FromContext(ctx).V(2).Info("Failed to check whether the image is present", "err", err)
		return "", nil
	}
	if image := response.GetImage(); image != nil && ref.names(image) {
		return image.GetId(), nil
	}
	return "", nil
}

// attempt pulls once. It tries the matching credentials one by one until the registry accepts one, or pulls without
// credentials if none match. With later set, it first checks again whether the image is present, and it reads the
// Secrets again. It returns the image ID. The error is an awayError if no attempt was possible.
func (c *Controller) attempt(ctx context.Context, t *task, later bool) (string, error) {
	// The time limit includes everything: Secrets, plugins, and all credentials together.
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, timeoutError{t.Timeout})
	defer cancel()
	ref, err := newReference(t.imageTag)
	if err != nil {
		return "", err
	}
	if later {
		if id, err := c.present(ctx, t); err != nil || id != "" {
			return id, err
		}
	}
	images, err := c.config.Images(ctx)
	if err != nil {
		return "", awayError{noChoice, err}
	}
	// The credentials are gathered for each attempt, so a corrected Secret helps the next one.
	offers, problems, err := c.credentials(ctx, t, ref, later)
	if err != nil {
		return "", err
	}
	id, err := c.offer(ctx, images, t, ref, offers)
	if err == nil {
		return id, nil
	}
	// Sources that could not be read may be why the pull failed, so the message has both.
	err = ended(ctx, err)
	if len(problems) > 0 {
		return "", fmt.Errorf("%w; also: %s; the log of the node agent on this node says more", err, strings.Join(problems, "; "))
	}
	return "", err
}

// noChoice is the message while it is not known which of several runtimes must pull.
const noChoice = "cannot choose a container runtime"

// runtimeAhead is how much earlier than this process a runtime may report the same deadline.
const runtimeAhead = time.Second

// ended returns the reason of a failed pull. If the time is over, that is the cause of ctx, even if the runtime
// reported the timeout first. Otherwise it is err.
func ended(ctx context.Context, err error) error {
	deadline, bounded := ctx.Deadline()
	// The runtime has the same deadline, and can report it a moment earlier than this process.
	if bounded && status.Code(err) == codes.DeadlineExceeded && time.Until(deadline) < runtimeAhead {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Problems with credentials, as the message of a failed pull tells them. The owners of all jobs that want the image can read it. So it
// has no names of Secrets, which can be those of others, and no output of a plugin. The log has them.
const (
	secretsUnread  = "failed to read the pull secrets"
	secretMissing  = "a pull secret does not exist or is not available to node agents"
	secretUnusable = "a pull secret cannot be used"
	pluginFailed   = "credential provider plugin %s failed"
)

// credentials returns the matching credentials, the best match first. problems describes the sources that could not
// be read; the message of a failed pull includes them.
func (c *Controller) credentials(
	ctx context.Context, t *task, ref imageReference, fresh bool,
) (found []credentials.Credential, problems []string, err error) {
	// Secrets come before plugins, and both are sorted by how well they match the image.
	var keyring credentials.Keyring
	held, problems, err := c.secrets.get(ctx, t.secrets, fresh)
	if err != nil {
		return nil, nil, err
	}
	for _, secret := range held {
		if err := keyring.AddSecret(secret); err != nil {
			klog.FromContext(ctx).Info("Skipped credentials of a pull secret", "secret", klog.KObj(secret), "reason", err)
			problems = append(problems, secretUnusable)
		}
	}
	failed, err := c.config.Plugins.AddTo(ctx, &keyring, ref.repository)
	if err != nil {
		klog.FromContext(ctx).Info("Skipped credential provider plugins", "plugins", failed, "reason", err)
	}
	for _, name := range failed {
		problems = append(problems, fmt.Sprintf(pluginFailed, name))
	}
	return keyring.Lookup(ref.repository), slices.Compact(problems), nil
}

// offer pulls with one credential after the other until one works. If all fail, the error lists the distinct
// failures. Without credentials, it pulls anonymously; if there are some, it never does.
func (c *Controller) offer(
	ctx context.Context, images Images, t *task, ref imageReference, offers []credentials.Credential,
) (string, error) {
	if len(offers) == 0 {
		id, err := pullWith(ctx, images, t, ref, nil)
		return id, explain(err, ref, false)
	}
	var failures []error
	for _, offer := range offers {
		id, err := pullWith(ctx, images, t, ref, &runtimeapi.AuthConfig{
			Username: offer.Username, Password: offer.Password, IdentityToken: offer.IdentityToken, RegistryToken: offer.RegistryToken,
		})
		if err == nil {
			return id, nil
		}
		err = explain(err, ref, true)
		if !slices.ContainsFunc(failures, func(other error) bool { return other.Error() == err.Error() }) {
			failures = append(failures, err)
		}
		// The time is over, so the other credentials cannot be tried.
		if ctx.Err() != nil {
			break
		}
	}
	if len(failures) == 1 {
		return "", failures[0]
	}
	return "", fmt.Errorf("all %d credentials failed: %w", len(offers), errors.Join(failures...))
}

// pullWith makes one pull request. A nil auth means an anonymous pull.
func pullWith(ctx context.Context, images Images, t *task, ref imageReference, auth *runtimeapi.AuthConfig) (string, error) {
	return images.PullImage(ctx, &runtimeapi.ImageSpec{Image: ref.full}, auth, t.sandboxConfig())
}
