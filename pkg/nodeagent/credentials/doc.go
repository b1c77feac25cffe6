// Package credentials finds the credentials that a registry may accept for an image. They come from Secrets of the
// two Docker types and from the credential provider plugins that the kubelet also runs.
//
// It reads both sources and applies the kubelet's rules for matching credentials to images (Keyring). It sends
// nothing to a registry and stores no Secret. It caches the answer of a plugin for as long as the answer allows.
// Enter at Keyring and LoadPlugins.
package credentials
