// Package containerrecreaterequest owns the controller's part of a ContainerRecreateRequest: everything that needs the Pod.
//
// The node agent stops containers and reports their progress (pkg/nodeagent/containerrestart); it does not read the Pod. The
// controller copies what the Pod reports about the containers into the request (snapshot). It takes the Pod out of service
// before its containers are stopped, and puts it back afterwards (drain). It ends a request that cannot end by itself: the Pod
// is deleted, no agent answers, or the deadline has passed. It removes the label by which agents find requests from ended
// requests, and deletes old requests.
//
// Every write to a request names its resource version, so a decision on an old copy is rejected. The controller reads the Pod
// from the API server before it changes the Pod's readiness. This is rare, and a key that is left behind would keep the Pod out
// of service forever.
//
// Enter at New, then Reconcile.
package containerrecreaterequest
