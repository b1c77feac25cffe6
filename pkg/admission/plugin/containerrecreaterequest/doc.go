// Package containerrecreaterequest fills in a ContainerRecreateRequest from its Pod. It admits the request only if
// the containers of the Pod can be restarted.
//
// It checks what validation cannot know: which instance of each container to stop, on which node it runs, and that it
// exists. It reads the Pod live. A stale cache could name an instance that is already gone, and then nothing would be
// restarted. A request that cannot be carried out is invalid: 422, with the field. A change of an immutable field is
// refused with 403, because users of the kind know this code. The rules are in pkg/apis/apps/validation. Enter at Register.
package containerrecreaterequest
