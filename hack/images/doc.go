// Package images builds container images without a container runtime. An image contains one static Go program in one
// layer, and is written as an OCI archive.
//
// The same program always gives the same digest. The tag comes from the digest, so a Deployment changes if and only if
// its program changes. The images contain no shell and no library, and run as user 65532.
//
// The package builds and reads archives, and Push uploads an image to a registry. hack/localcluster loads archives
// into nodes. Enter at Programs, Builder.Build and Inspect.
package images
