package apiserver

import (
	"fmt"
	"maps"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/admission/review"
	"kruise.io/kruise/pkg/apiserver/gated"
	"kruise.io/kruise/pkg/apiserver/guard"
	"kruise.io/kruise/pkg/generated/openapi"
	"kruise.io/kruise/pkg/registry/rest"
)

// Config configures the server. NewConfig creates it, the caller fills in what depends on flags, and Complete ends
// the changes.
type Config struct {
	// Generic is the configuration of the generic server: listening, authentication, authorization and admission.
	Generic *genericapiserver.RecommendedConfig
	// Gate holds the Kruise feature gates.
	Gate featuregate.FeatureGate
	// Backends are what some kinds need besides the store.
	Backends Backends
	// MaxObjectBytes is the maximum encoded size of a stored object, in bytes.
	MaxObjectBytes int
	// Reviews serves the reviews that kube-apiserver requests about its own objects, by resource name.
	Reviews map[string]genericrest.Storage
	// Guard decides whether the store may be served, and then opens Storages. Nothing is served until Guard runs.
	Guard    *guard.Guard
	Storages *gated.Storages
	// Turns orders writes of kinds whose objects are written one at a time.
	Turns rest.Turns
	// Owners finds the dependents of objects. It may be nil.
	Owners *Owners
	// Effects delays the answers to writes of these kinds until the server acts on them. It may be nil.
	Effects rest.Effects

	// scheme and codecs are those of NewScheme. They are shared by all groups.
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
}

// NewConfig returns a configuration without the parts that flags set: the store, certificates, authentication,
// authorization and admission.
func NewConfig(scheme *runtime.Scheme, codecs serializer.CodecFactory, gate featuregate.FeatureGate) *Config {
	generic := genericapiserver.NewRecommendedConfig(codecs)
	namer := openapinamer.NewDefinitionNamer(scheme)
	generic.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	generic.OpenAPIConfig.Info.Title = "Kruise"
	generic.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	generic.OpenAPIV3Config.Info.Title = "Kruise"
	// Leave reviews out of OpenAPI, because no client needs their schema: kube-apiserver sends them by its own types.
	reviews := []string{"/apis/" + review.GroupName}
	generic.OpenAPIConfig.IgnorePrefixes = append(generic.OpenAPIConfig.IgnorePrefixes, reviews...)
	generic.OpenAPIV3Config.IgnorePrefixes = append(generic.OpenAPIV3Config.IgnorePrefixes, reviews...)
	hideStrategicMerge(&generic.Config)
	c := &Config{Generic: generic, Gate: gate, Guard: guard.New(), scheme: scheme, codecs: codecs}
	c.Storages = gated.New(c.Guard)
	// The check of the store comes after the generic chain, so it runs after authentication, authorization and audit.
	// It comes before admission and the registry, so no plugin or cache works for a request that cannot be served.
	generic.BuildHandlerChainFunc = func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		handler = refuseWithoutStore(c.Guard, GroupNames(), codecs, rememberBodySize(handler))
		return genericapiserver.DefaultBuildHandlerChain(handler, config)
	}
	return c
}

// CompletedConfig is a Config that Complete has finished.
type CompletedConfig struct {
	*completedConfig
}

type completedConfig struct {
	*Config
	generic genericapiserver.CompletedConfig
}

// Complete sets the fields that follow from other fields. It wraps the audit policy, so it must run after the flags
// are applied.
func (c *Config) Complete() CompletedConfig {
	if c.Generic.AuditPolicyRuleEvaluator != nil {
		c.Generic.AuditPolicyRuleEvaluator = withoutSecrets{c.Generic.AuditPolicyRuleEvaluator}
	}
	return CompletedConfig{&completedConfig{Config: c, generic: c.Generic.Complete()}}
}

// New returns a server that is ready to run. It does no input or output: the storages stay closed until Guard opens
// them while the server runs.
func (c CompletedConfig) New() (*genericapiserver.GenericAPIServer, error) {
	server, err := c.generic.New("kruise-apiserver", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("create the generic server: %w", err)
	}
	for _, group := range groups {
		info, err := c.groupInfo(group)
		if err != nil {
			return nil, err
		}
		if err := server.InstallAPIGroup(info); err != nil {
			return nil, fmt.Errorf("install group %s: %w", group.name, err)
		}
	}
	// Reviews are a group without a store, so they do not pass through groupInfo and are answered while the store is
	// closed.
	info := genericapiserver.NewDefaultAPIGroupInfo(review.GroupName, c.scheme, metav1.ParameterCodec, c.codecs)
	info.VersionedResourcesStorageMap[review.GroupVersion.Version] = c.Reviews
	if err := server.InstallAPIGroup(&info); err != nil {
		return nil, fmt.Errorf("install group %s: %w", review.GroupName, err)
	}
	return server, nil
}

// groupInfo creates the storage of each kind in a group. All versions of a kind share one store, so their watches and
// conflicts are common too.
func (c CompletedConfig) groupInfo(group group) (*genericapiserver.APIGroupInfo, error) {
	info := genericapiserver.NewDefaultAPIGroupInfo(group.name, c.scheme, metav1.ParameterCodec, c.codecs)
	// All versions of the group decode bodies with these codecs. The store uses plain ones.
	codecs, err := checkBodies(c.scheme, info.NegotiatedSerializer)
	if err != nil {
		return nil, err
	}
	info.NegotiatedSerializer = codecs
	options := c.Storages.Options(c.generic.RESTOptionsGetter)
	for _, kind := range group.kinds(c.Gate, c.Backends) {
		storage, err := kind.Storage(c.scheme, options, c.MaxObjectBytes)
		if err != nil {
			return nil, err
		}
		kind.TakeTurns(storage, c.Turns)
		kind.AwaitEffects(storage, c.Effects)
		if c.Owners != nil {
			c.Owners.Open(kind, storage)
		}
		// The subresources are in storage too, so every version has them.
		for _, version := range kind.ServedVersions() {
			served := info.VersionedResourcesStorageMap[version.Version]
			if served == nil {
				served = map[string]genericrest.Storage{}
				info.VersionedResourcesStorageMap[version.Version] = served
			}
			maps.Copy(served, storage)
		}
	}
	return &info, nil
}

// rememberBodySize passes the declared size of the request body to the registry. A chunked body has the length -1 and
// is passed on as such.
func rememberBodySize(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ContentLength != 0 {
			req = req.WithContext(rest.WithBodySize(req.Context(), req.ContentLength))
		}
		handler.ServeHTTP(w, req)
	})
}
