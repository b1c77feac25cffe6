// Package imagepulljob owns the controller of ImagePullJobs: it chooses nodes, asks as many of them at once as the job allows
// to pull the image by writing a tag into their NodeImages, and counts what they answer.
//
// choose.go finds the nodes, count.go judges them and assign.go decides what to write; they see nothing but objects and the
// time. push.go and status.go write. secrets.go keeps the copies of pull secrets in the one namespace from which node agents
// get any. events.go says whom a change concerns: a job is woken by what it asked for and by nothing else. Enter at
// Reconciler.Reconcile.
package imagepulljob
