package userwritelimit

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

// PluginName is the plugin's name in flags.
const PluginName = "UserWriteLimit"

const (
	// users is how many users have a record of their own. If there are more, the record of the user who has not
	// written for the longest time is deleted.
	users = 4096
	// retryAfter is the number of seconds after which a refused client should try again. client-go does so by itself.
	retryAfter = 1
)

// Settings are what the flags say.
type Settings struct {
	// WritesPerSecond is the number of creations and updates of one user in a second, also at once. Zero means no limit.
	WritesPerSecond int
	// Namespace is that of this project's service accounts, which are not limited.
	Namespace string
}

// Register adds the plugin. settings is called after the flags are parsed.
func Register(plugins *admission.Plugins, settings func() Settings, clock clock.PassiveClock) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(settings(), clock), nil })
}

// Plugin refuses creations and updates of a user that exceed the limit. Deletions are not limited: they make room, and the deletion of a
// collection counts each object. It may be used concurrently.
type Plugin struct {
	*admission.Handler
	limit  int
	exempt []string
	clock  clock.PassiveClock
	// limiters has a *rate.Limiter for each user name.
	limiters *lru.Cache
}

var _ admission.ValidationInterface = &Plugin{}

// New returns the plugin.
func New(settings Settings, clock clock.PassiveClock) *Plugin {
	return &Plugin{
		Handler: admission.NewHandler(admission.Create, admission.Update),
		limit:   settings.WritesPerSecond, clock: clock, limiters: lru.New(users),
		exempt: []string{
			user.SystemPrivilegedGroup, serviceaccount.MakeNamespaceGroupName("kube-system"),
			serviceaccount.MakeNamespaceGroupName(settings.Namespace),
		},
	}
}

// Handles implements admission.Interface.
func (p *Plugin) Handles(operation admission.Operation) bool {
	return p.limit > 0 && p.Handler.Handles(operation)
}

// Validate refuses a write with 429 if the user has made more writes than the limit allows.
func (p *Plugin) Validate(_ context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	caller := attributes.GetUserInfo()
	if caller == nil || p.exempts(caller) || p.limiterOf(caller.GetName()).AllowN(p.clock.Now(), 1) {
		return nil
	}
	return apierrors.NewTooManyRequests(fmt.Sprintf("user %q has made more than %d writes of Kruise objects in a second: try again; "+
		"an administrator can set another limit with --user-writes-per-second", caller.GetName(), p.limit), retryAfter)
}

// exempts reports whether the user is an administrator or a part of the system, as the garbage collector and the controllers.
func (p *Plugin) exempts(caller user.Info) bool {
	name := caller.GetName()
	if strings.HasPrefix(name, "system:") && !strings.HasPrefix(name, serviceaccount.ServiceAccountUsernamePrefix) && name != user.Anonymous {
		return true
	}
	return slices.ContainsFunc(caller.GetGroups(), func(group string) bool { return slices.Contains(p.exempt, group) })
}

// limiterOf returns the limiter of a user. Two first requests of a user at once may each get one; the last one stays.
func (p *Plugin) limiterOf(name string) *rate.Limiter {
	if found, ok := p.limiters.Get(name); ok {
		return found.(*rate.Limiter)
	}
	limiter := rate.NewLimiter(rate.Limit(p.limit), p.limit)
	p.limiters.Add(name, limiter)
	return limiter
}
