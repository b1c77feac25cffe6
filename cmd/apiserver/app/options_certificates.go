package app

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// CertificateOptions defines where the self-managed certificate is stored and which names it has.
type CertificateOptions struct {
	// Namespace is that of the server, its Services and the Secret.
	Namespace, SecretName, ServiceName string
	// ReviewServiceName is the Service that leads to this server even while it is not ready.
	ReviewServiceName string
}

// NewCertificateOptions returns the defaults.
func NewCertificateOptions(namespace string) *CertificateOptions {
	options := &CertificateOptions{Namespace: namespace, ServiceName: "kruise-apiserver", ReviewServiceName: "kruise-apiserver-reviews"}
	options.SecretName = "kruise-apiserver-certs"
	return options
}

// AddFlags adds the flags.
func (o *CertificateOptions) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Namespace, "namespace", o.Namespace,
		"Namespace that kruise-apiserver runs in. The default is $POD_NAMESPACE, or the namespace of the service account.")
	fs.StringVar(&o.SecretName, "certificate-secret", o.SecretName,
		"Secret in --namespace that stores the self-managed certificates. It is used when --tls-cert-file is empty.")
	fs.StringVar(&o.ServiceName, "service-name", o.ServiceName,
		"Service in --namespace through which kube-apiserver reaches the Kruise API. The self-managed certificate contains its names.")
	fs.StringVar(&o.ReviewServiceName, "review-service-name", o.ReviewServiceName,
		"Service in --namespace through which kube-apiserver reaches the admission reviews. The self-managed certificate contains its names.")
}

// Validate returns all errors in the flags.
func (o *CertificateOptions) Validate() []error {
	var errs []error
	check := func(flag, value string, problems []string) {
		if len(problems) > 0 {
			errs = append(errs, fmt.Errorf("--%s %q: %s", flag, value, strings.Join(problems, "; ")))
		}
	}
	check("namespace", o.Namespace, validation.IsDNS1123Label(o.Namespace))
	check("certificate-secret", o.SecretName, validation.IsDNS1123Subdomain(o.SecretName))
	check("service-name", o.ServiceName, validation.IsDNS1035Label(o.ServiceName))
	check("review-service-name", o.ReviewServiceName, validation.IsDNS1035Label(o.ReviewServiceName))
	return errs
}

// DNSNames returns the names under which kube-apiserver calls the Services. A change of a name makes the server issue
// a new certificate.
func (o *CertificateOptions) DNSNames() []string {
	var names []string
	for _, service := range []string{o.ServiceName, o.ReviewServiceName} {
		name := service + "." + o.Namespace
		names = append(names, name+".svc", name+".svc.cluster.local", name)
	}
	return names
}
