package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"kruise.io/kruise/pkg/admission/initializer"
	"kruise.io/kruise/pkg/admission/review"
	"kruise.io/kruise/pkg/apiserver"
	"kruise.io/kruise/pkg/apiserver/authorization"
	"kruise.io/kruise/pkg/apiserver/clientca"
	"kruise.io/kruise/pkg/apiserver/gated"
	"kruise.io/kruise/pkg/apiserver/services"
	"kruise.io/kruise/pkg/generated/clientset/versioned"
	"kruise.io/kruise/pkg/protectionlog"
	appsregistry "kruise.io/kruise/pkg/registry/apps"
)

// clientCAPatience limits how long the start waits for the client CA.
const clientCAPatience = 10 * time.Second

// Config converts the options to the configuration of the server. It asks the host cluster which APIs it has, and
// binds the port. Later steps use what earlier ones have set: the connection to the host cluster, then the store,
// then serving, authentication, and admission at last.
func (o *Options) Config(ctx context.Context) (*apiserver.Config, error) {
	o.Gates.warn(klog.FromContext(ctx))
	scheme, err := apiserver.NewScheme()
	if err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(scheme)
	// NewConfig sets what needs no flags.
	config := apiserver.NewConfig(scheme, codecs, o.Gates.Kruise)
	config.MaxObjectBytes = o.Store.MaxObjectBytes
	generic := config.Generic
	if err := o.Server.ApplyTo(&generic.Config); err != nil {
		return nil, err
	}
	if err := o.applyHost(config); err != nil {
		return nil, err
	}
	// Connections are verified before any client of the store exists.
	o.Store.verifyConnections(config.Guard)
	etcd := o.Store.Etcd
	etcd.StorageConfig.StorageObjectCountTracker = generic.StorageObjectCountTracker
	factory := apiserver.NewStorageFactory(o.Gates.Kruise, etcd.StorageConfig, etcd.DefaultStorageMediaType, codecs)
	if err := etcd.ApplyWithStorageFactoryTo(factory, &generic.Config); err != nil {
		return nil, fmt.Errorf("prepare the store: %w", err)
	}
	// The generic server has added its check of etcd in the step before.
	withoutEtcd(generic)
	uncached, err := o.Store.uncached(apiserver.Kinds(o.Gates.Kruise))
	if err != nil {
		return nil, err
	}
	// This replaces the storages of NewConfig, which did not know the flags of the watch cache.
	config.Storages = gated.New(config.Guard, uncached...)
	if config.Turns, err = o.Store.turns(config.Guard.Explain); err != nil {
		return nil, err
	}
	if err := o.applyServing(config); err != nil {
		return nil, err
	}
	if err := o.applyAccess(ctx, config); err != nil {
		return nil, err
	}
	if err := o.applyAdmission(ctx, config); err != nil {
		return nil, err
	}
	return config, nil
}

// applyHost sets the connection to the host cluster.
func (o *Options) applyHost(config *apiserver.Config) error {
	if err := o.CoreAPI.ApplyTo(config.Generic); err != nil {
		if errors.Is(err, rest.ErrNotInCluster) {
			return errors.New("no host cluster: set --kubeconfig, or run in a Pod with a service account")
		}
		return fmt.Errorf("connect to the host cluster: %w", err)
	}
	// Admission reads objects for requests of users, so client-side rate limits must not delay it. Each client made from this
	// configuration has a rate limit of its own.
	config.Generic.ClientConfig.QPS, config.Generic.ClientConfig.Burst = 200, 400
	config.Generic.ClientConfig.Wrap(o.Clock.Wrap)
	config.Backends.Clock = o.Clock
	return o.applyPullSecrets(config)
}

// applyPullSecrets sets up live reads of the Secrets that node agents request from the host cluster.
func (o *Options) applyPullSecrets(config *apiserver.Config) error {
	client, err := kubernetes.NewForConfig(config.Generic.ClientConfig)
	if err != nil {
		return fmt.Errorf("create a client for the host cluster: %w", err)
	}
	secrets := client.CoreV1().Secrets(o.Accounts.PullSecretsNamespace)
	config.Backends.PullSecrets = &appsregistry.PullSecrets{
		Namespace: o.Accounts.PullSecretsNamespace,
		Read: func(ctx context.Context, name string) (*corev1.Secret, error) {
			return secrets.Get(ctx, name, metav1.GetOptions{})
		},
	}
	return nil
}

// applyServing binds the port.
func (o *Options) applyServing(config *apiserver.Config) error {
	generic := config.Generic
	if err := o.Egress.ApplyTo(&generic.Config); err != nil {
		return fmt.Errorf("apply egress flags: %w", err)
	}
	if err := o.Tracing.ApplyTo(generic.EgressSelector, &generic.Config); err != nil {
		return fmt.Errorf("apply tracing flags: %w", err)
	}
	if err := o.SecureServing.ApplyToConfig(&generic.Config); err != nil {
		return fmt.Errorf("serve on --secure-port %d: %w", o.SecureServing.BindPort, err)
	}
	return nil
}

// applyAccess sets up authentication and authorization.
func (o *Options) applyAccess(ctx context.Context, config *apiserver.Config) error {
	generic := config.Generic
	if err := o.applyAuthentication(ctx, config); err != nil {
		return err
	}
	if err := o.Authorization.ApplyTo(&generic.Authorization); err != nil {
		return fmt.Errorf("delegate authorization: %w", err)
	}
	// reviews and nodes come first, because they deny what a later authorizer would allow. proxied comes before the
	// delegated one, because it needs no request.
	nodes := authorization.NewNodes(apiserver.GroupNames(), o.Accounts.DaemonUser())
	proxied := authorization.NewProxied(apiserver.GroupNames())
	reviews := authorization.NewReviews(review.GroupName)
	generic.Authorization.Authorizer = union.New(reviews, nodes, proxied, generic.Authorization.Authorizer)
	if err := o.Audit.ApplyTo(&generic.Config); err != nil {
		return fmt.Errorf("apply audit flags: %w", err)
	}
	return nil
}

// applyAuthentication takes the client CA from the host cluster. The server has it before the first connection. With
// flags for the client CA, the cluster is not asked.
func (o *Options) applyAuthentication(ctx context.Context, config *apiserver.Config) error {
	generic := config.Generic
	var parts []dynamiccertificates.CAContentProvider
	if o.Authentication.ClientCert.ClientCA == "" && !o.Authentication.SkipInClusterLookup {
		client, err := kubernetes.NewForConfig(generic.ClientConfig)
		if err != nil {
			return fmt.Errorf("create a client for the host cluster: %w", err)
		}
		authority, err := clientca.FromCluster(ctx, client)
		if err != nil {
			return err
		}
		if authority != nil {
			o.Authentication.ClientCert.CAContentProvider = authority
			parts = append(parts, authority)
		}
	}
	if err := o.Authentication.ApplyTo(&generic.Authentication, generic.SecureServing, generic.OpenAPIConfig); err != nil {
		return fmt.Errorf("delegate authentication: %w", err)
	}
	// Requests of the aggregation layer are authenticated first, because they are nearly all.
	if proxy := generic.Authentication.RequestHeaderConfig; proxy != nil {
		generic.Authentication.Authenticator = authorization.MarkProxied(proxy, generic.Authentication.Authenticator)
		parts = append(parts, proxy.CAContentProvider)
	}
	if generic.SecureServing.ClientCA != nil {
		generic.SecureServing.ClientCA = clientca.WaitFor(generic.SecureServing.ClientCA, clientCAPatience, parts...)
	}
	return nil
}

// applyAdmission sets up admission and priority and fairness, which both watch the host cluster. The reviews are
// built at the end, because they call the plugins of the chain.
func (o *Options) applyAdmission(ctx context.Context, config *apiserver.Config) error {
	generic := config.Generic
	client, err := kubernetes.NewForConfig(generic.ClientConfig)
	if err != nil {
		return fmt.Errorf("create a client for the host cluster: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfig(generic.ClientConfig)
	if err != nil {
		return fmt.Errorf("create a client for the host cluster: %w", err)
	}
	// The loopback client needs no proxy and no network, and has the server's own identity.
	inside := rest.CopyConfig(generic.LoopbackClientConfig)
	inside.ContentType = runtime.ContentTypeProtobuf
	kruise, err := versioned.NewForConfig(inside)
	if err != nil {
		return fmt.Errorf("create a client for this server: %w", err)
	}
	if config.Owners, err = apiserver.NewOwners(inside, o.Gates.Kruise); err != nil {
		return err
	}
	metadataClient, err := metadata.NewForConfig(generic.ClientConfig)
	if err != nil {
		return fmt.Errorf("create a client for the host cluster: %w", err)
	}
	// Admission decides here which plugins exist, so the missing ones are disabled before.
	if err := o.disableMissing(ctx, client); err != nil {
		return err
	}
	if err := o.Features.ApplyTo(&generic.Config, client, generic.SharedInformerFactory); err != nil {
		return fmt.Errorf("apply priority and fairness: %w", err)
	}
	stores, err := o.openStores(config, kruise, client)
	if err != nil {
		return err
	}
	resolver, err := services.New(ctx, client, o.Webhooks.ToEndpoints)
	if err != nil {
		return err
	}
	err = o.Admission.ApplyTo(&generic.Config, generic.SharedInformerFactory, client, dynamicClient,
		generic.FeatureGate, generic.EffectiveVersion,
		&initializer.Initializer{
			Kruise: kruise, Owners: config.Owners, Features: o.Gates.Kruise, Namespace: o.Certificates.Namespace,
			Metadata: metadataClient, ProtectionLog: protectionlog.Open(ctx, o.Protection.LogPath),
			ReviewClients: reviewClients(generic.ClientConfig),
		}, stores, resolver, apiserver.NewQuotaInitializer(o.Gates.Kruise))
	if err != nil {
		return fmt.Errorf("apply admission: %w", err)
	}
	generic.AdmissionControl = review.Exempt(generic.AdmissionControl)
	config.Reviews = review.Storage(reviews, o.Reviewers)
	return nil
}

// reviewClients returns clients of the host cluster that share no rate limit, neither with each other nor with those
// of other calls. The configuration must be one from which clients were made before, because the functions panic on
// an invalid one.
func reviewClients(config *rest.Config) func() (kubernetes.Interface, metadata.Interface) {
	return func() (kubernetes.Interface, metadata.Interface) {
		return kubernetes.NewForConfigOrDie(config), metadata.NewForConfigOrDie(config)
	}
}

// disableMissing disables features whose API the host cluster does not have. An informer for a missing API would never sync.
func (o *Options) disableMissing(ctx context.Context, client kubernetes.Interface) error {
	resources, err := client.Discovery().ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("discover the host cluster's admission API: %w", err)
	}
	if !has(resources, "mutatingadmissionpolicies") {
		klog.FromContext(ctx).Info("The host cluster does not serve MutatingAdmissionPolicy v1, skipping it")
		o.Admission.DisablePlugins = append(o.Admission.DisablePlugins, mutatingpolicy.PluginName)
	}
	return nil
}

// has returns true if the list contains a resource. A nil list, of a group that is not served, contains none.
func has(resources *metav1.APIResourceList, name string) bool {
	if resources == nil {
		return false
	}
	for _, resource := range resources.APIResources {
		if resource.Name == name {
			return true
		}
	}
	return false
}
