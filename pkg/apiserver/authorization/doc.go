// Package authorization decides in process about requests that need no SubjectAccessReview.
//
// kube-apiserver has already authorized the requests that it proxies, with the same user, verb and object. A second review for each
// object name would add a round trip to every request. This gives the owner of the front proxy's key no new power: it can send any user
// name, also that of an administrator. Requests that did not come through the proxy, impersonated users, and checks of anything else
// than the request itself go on to the delegated review. Enter at MarkProxied and NewProxied. MarkProxied verifies the certificate of
// the front proxy once a minute, and not for each request (frontProxy).
//
// An authorizer that only denies runs first. It limits the node agents' account to the node in their token. RBAC
// cannot do that, because it has no selectors. Enter at NewNodes.
package authorization
