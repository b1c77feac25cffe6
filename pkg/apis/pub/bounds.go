package pub

// Bounds of an image pull job. Its fields are stored again for each node that it selects.
const (
	// MaxPullSecrets is how many pull secrets a job may name.
	MaxPullSecrets = 32
	// MaxSandboxConfigSize limits the labels and annotations for the container runtime together, see SizeOf.
	MaxSandboxConfigSize = 16 << 10
)

// textOverhead is the number of bytes that each text counts for in addition to its length. So many empty texts count, too.
const textOverhead = 2

// SizeOf returns the size of texts in bytes, as bounds count it.
func SizeOf(texts ...string) (size int) {
	for _, text := range texts {
		size += len(text) + textOverhead
	}
	return size
}

// SizeOfMap returns the size of labels or annotations in bytes, as bounds count it.
func SizeOfMap(m map[string]string) (size int) {
	for key, value := range m {
		size += SizeOf(key, value)
	}
	return size
}
