// Package containerrecreaterequest fills in a ContainerRecreateRequest from its Pod. It admits the request only if
// the containers of the Pod can be restarted.
//
// It checks what validation cannot know: which instance of each container to stop, on which node it runs, and that it
// exists. It reads the Pod live. A stale cache could name an instance that is already gone, and then nothing would be
// restarted. It returns the status codes that users of the kind know: 400 for a request that cannot be carried out,
// and 403 for a change of an immutable field. The rules are in pkg/apis/apps/validation. Enter at Register.
package containerrecreaterequest
