// Package containerrecreaterequest completes a ContainerRecreateRequest from its Pod, and admits it
// only when the Pod can have its containers restarted.
//
// It owns what validation cannot know: which instance of each container is to go, on which node, and
// that there is such an instance. It reads the Pod live, because a cache that lags would name an
// instance that is gone already, and nothing would be restarted. It also answers with the status
// codes that users of the kind know: 400 for a request that cannot be carried out, 403 for a change
// of what is fixed. The rules themselves are in pkg/apis/apps/validation. Enter at Register.
package containerrecreaterequest
