// Package authorization decides in process about the requests of our own service accounts.
//
// A request that kube-apiserver proxied to us was authorized there already. To ask it again for
// each object name would put a round trip on every write, so our own accounts are matched against
// the rules that the chart renders for them. That authorizer never denies: what it does not
// recognise goes on to the delegated review, and so does every caller who did not come through the
// proxy, and every impersonated user. Enter at MarkProxied and New.
//
// Before it stands one that only denies: it binds the node agents' account to the node that their
// token names. RBAC knows no selectors, so it could not. Enter at NewNodes.
package authorization
