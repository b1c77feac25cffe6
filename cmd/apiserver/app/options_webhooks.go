package app

import "github.com/spf13/pflag"

// WebhookOptions are the flags for calls of admission webhooks.
type WebhookOptions struct {
	// ToEndpoints is true if the endpoints of a webhook's Service are called instead of its cluster IP.
	ToEndpoints bool
}

// AddFlags adds the flags. The name is that of kube-apiserver, which decides the same about the webhooks of its own kinds.
func (o *WebhookOptions) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.ToEndpoints, "enable-aggregator-routing", o.ToEndpoints, "Call admission webhooks at the endpoints of "+
		"their Service instead of its cluster IP. Set it as for kube-apiserver, for example if Pods cannot reach cluster IPs.")
}
