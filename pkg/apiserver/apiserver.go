package apiserver

import (
	"fmt"
	"maps"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericrest "k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/featuregate"

	"kruise.io/kruise/pkg/admission/review"
	"kruise.io/kruise/pkg/apiserver/gated"
	"kruise.io/kruise/pkg/apiserver/guard"
	"kruise.io/kruise/pkg/generated/openapi"
	appsregistry "kruise.io/kruise/pkg/registry/apps"
	"kruise.io/kruise/pkg/registry/rest"
)

// Config is what the server is made of.
type Config struct {
	Generic *genericapiserver.RecommendedConfig
	// Gate holds the Kruise feature gates.
	Gate featuregate.FeatureGate
	// MaxObjectBytes bounds an object's stored form.
	MaxObjectBytes int
	// PullSecrets reads what nodeimages/pullsecrets answers with. Without it, that path is not served.
	PullSecrets *appsregistry.PullSecrets
	// Reviews serve what kube-apiserver asks about objects of its own, by resource.
	Reviews map[string]genericrest.Storage
	// Guard decides when the store is served, Storages are opened then. Until Guard runs nothing is.
	Guard    *guard.Guard
	Storages *gated.Storages
	// Opened, where set, is told of the storage of each kind before anything is served.
	Opened func(resource schema.GroupResource, storage map[string]genericrest.Storage)

	scheme *runtime.Scheme
	codecs serializer.CodecFactory
}

// NewConfig returns a configuration that lacks what flags decide: the store, certificates,
// authentication, authorization, admission.
func NewConfig(scheme *runtime.Scheme, codecs serializer.CodecFactory, gate featuregate.FeatureGate) *Config {
	generic := genericapiserver.NewRecommendedConfig(codecs)
	namer := openapinamer.NewDefinitionNamer(scheme)
	generic.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	generic.OpenAPIConfig.Info.Title = "Kruise"
	generic.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	generic.OpenAPIV3Config.Info.Title = "Kruise"
	// Reviews are no objects of anybody's: no client needs their schema.
	reviews := []string{"/apis/" + review.GroupName}
	generic.OpenAPIConfig.IgnorePrefixes = append(generic.OpenAPIConfig.IgnorePrefixes, reviews...)
	generic.OpenAPIV3Config.IgnorePrefixes = append(generic.OpenAPIV3Config.IgnorePrefixes, reviews...)
	c := &Config{Generic: generic, Gate: gate, Guard: guard.New(), scheme: scheme, codecs: codecs}
	c.Storages = gated.New(c.Guard)
	generic.BuildHandlerChainFunc = func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		handler = refuseWithoutStore(c.Guard, GroupNames(), codecs, rememberBodySize(handler))
		return genericapiserver.DefaultBuildHandlerChain(handler, config)
	}
	return c
}

// CompletedConfig can only come from Complete.
type CompletedConfig struct {
	*completedConfig
}

type completedConfig struct {
	*Config
	generic genericapiserver.CompletedConfig
}

// Complete fills in what follows from the rest.
func (c *Config) Complete() CompletedConfig {
	if c.Generic.AuditPolicyRuleEvaluator != nil {
		c.Generic.AuditPolicyRuleEvaluator = withoutSecrets{c.Generic.AuditPolicyRuleEvaluator}
	}
	return CompletedConfig{&completedConfig{Config: c, generic: c.Generic.Complete()}}
}

// New returns the server, ready to run. The store is opened by Guard, while the server runs.
func (c CompletedConfig) New() (*genericapiserver.GenericAPIServer, error) {
	server, err := c.generic.New("kruise-apiserver", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("make the generic server: %w", err)
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
	info := genericapiserver.NewDefaultAPIGroupInfo(review.GroupName, c.scheme, metav1.ParameterCodec, c.codecs)
	info.VersionedResourcesStorageMap[review.GroupVersion.Version] = c.Reviews
	if err := server.InstallAPIGroup(&info); err != nil {
		return nil, fmt.Errorf("install group %s: %w", review.GroupName, err)
	}
	return server, nil
}

// groupInfo makes the storages of a group's kinds. One store serves every version.
func (c CompletedConfig) groupInfo(group group) (*genericapiserver.APIGroupInfo, error) {
	info := genericapiserver.NewDefaultAPIGroupInfo(group.name, c.scheme, metav1.ParameterCodec, c.codecs)
	codecs, err := checkBodies(c.scheme, info.NegotiatedSerializer)
	if err != nil {
		return nil, err
	}
	info.NegotiatedSerializer = codecs
	options := c.Storages.Options(c.generic.RESTOptionsGetter)
	for _, kind := range group.kinds(c.Gate) {
		storage, err := kind.Storage(c.scheme, options, c.MaxObjectBytes)
		if err != nil {
			return nil, err
		}
		if c.PullSecrets != nil {
			appsregistry.AddPullSecrets(storage, c.PullSecrets)
		}
		if c.Opened != nil {
			c.Opened(kind.Resource(), storage)
		}
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

// rememberBodySize tells the registry how large a request's body is.
func rememberBodySize(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ContentLength != 0 {
			req = req.WithContext(rest.WithBodySize(req.Context(), req.ContentLength))
		}
		handler.ServeHTTP(w, req)
	})
}
