// Package credentials finds what a registry may accept for an image: from Secrets of the two Docker types, and from the
// credential provider plugins that the kubelet runs too.
//
// It owns reading both, and the kubelet's rules of which credential fits which image (Keyring). It sends nothing to a
// registry and keeps no Secret. What a plugin answers is kept as long as the answer says. Enter at Keyring and LoadPlugins.
package credentials
