// Package containerrecreaterequest owns the controller's half of a ContainerRecreateRequest: everything that needs the Pod.
//
// The agent of the node stops containers and says how far each has come (pkg/nodeagent/containerrestart); it does not read
// the Pod. The controller tells it what the Pod says of the containers (snapshot), takes the Pod out of service before its
// containers are stopped and gives it back (drain), and ends a request that cannot end by itself: its Pod is gone, no agent
// answers, its time is over. Ended requests lose the label by which agents find them, and are deleted when they are old.
//
// Every write to a request goes through its version, so a decision on an old copy is refused. The Pod is read live before its
// readiness is changed: that is rare, and a key that is left behind would keep the Pod out of service for ever.
//
// Enter at New, then Reconcile.
package containerrecreaterequest
