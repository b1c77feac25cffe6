package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kruise.io/kruise/pkg/apis/apps"
	"kruise.io/kruise/pkg/apis/pub"
)

// maxProbeBytes limits the texts of one probe. Each probe is stored again for each Pod that it is for.
// docs/design/0029-bounds-on-nodes.md explains the number.
const maxProbeBytes = 4 << 10

// atMostBytes refuses texts that are too long together. Something that is stored already can stay as large as it is, and become smaller.
func atMostBytes(size, limit int, remedy string, path *field.Path) field.ErrorList {
	if size <= limit {
		return nil
	}
	err := field.TooMany(path, size, limit)
	err.Detail = fmt.Sprintf("must have at most %d bytes; %s", limit, remedy)
	return field.ErrorList{err}
}

func probeSize(probe *apps.PodContainerProbe) int {
	size := pub.SizeOf(probe.Name, probe.ContainerName)
	if exec := probe.Probe.Exec; exec != nil {
		size += pub.SizeOf(exec.Command...)
	}
	if get := probe.Probe.HTTPGet; get != nil {
		size += pub.SizeOf(get.Path, get.Port.StrVal) + headersSize(get.HTTPHeaders)
	}
	if socket := probe.Probe.TCPSocket; socket != nil {
		size += pub.SizeOf(socket.Port.StrVal)
	}
	return size
}

func headersSize(headers []corev1.HTTPHeader) (size int) {
	for i := range headers {
		size += pub.SizeOf(headers[i].Name, headers[i].Value)
	}
	return size
}
