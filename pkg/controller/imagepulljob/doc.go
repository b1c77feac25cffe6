// Package imagepulljob owns the controller of ImagePullJobs. It selects nodes, asks as many of them at once as the job allows,
// and counts their answers. It asks a node to pull the image by writing a tag into the node's NodeImage.
//
// choose.go finds the nodes, count.go groups them, and assign.go decides what to write. These files use only objects and the
// time. push.go and reconcile.go write. secrets.go keeps the copies of pull secrets in the only namespace from which node agents
// may read them. events.go decides which jobs a change affects. A job is only woken by changes of what it asked for. Enter at
// Reconciler.Reconcile.
package imagepulljob
