// Package authorization authorizes requests of Kruise service accounts in process.
//
// kube-apiserver has already authorized the requests that it proxies. A second review for each object name would add
// a round trip to every write. So the package matches Kruise accounts against the rules that the chart renders for
// them. This authorizer never denies. It passes on unknown requests, requests that did not come through the proxy,
// and impersonated users to the delegated review. Enter at MarkProxied and New.
//
// An authorizer that only denies runs first. It limits the node agents' account to the node in their token. RBAC
// cannot do that, because it has no selectors. Enter at NewNodes.
package authorization
