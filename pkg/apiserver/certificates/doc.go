// Package certificates provides the serving certificate of the apiserver without manual steps.
//
// It owns one Secret that all replicas share. The Secret holds a certificate authority and a serving certificate that
// the authority signed. The package renews both before they expire, while the server runs. It also writes the
// certificates of the authorities to the caBundle of the APIServices, so that kube-apiserver trusts this server. A
// new authority is always published next to the old one before any certificate that it signed is served. Replicas
// agree through the resourceVersion of the Secret.
//
// material.go defines the content of the Secret. next.go decides what changes and when, as a pure function of the
// time. manager.go writes, publishes and serves. The package does not handle certificates from files. Enter at New.
package certificates
