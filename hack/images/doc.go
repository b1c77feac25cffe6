// Package images makes container images without a container runtime: a static Go program, one layer, an OCI archive.
//
// The same program always gives the same digest, and a tag made of it, so that a changed program is a changed Deployment and an
// unchanged one is not. The images hold no shell and no library, and run as user 65532.
//
// The package builds and reads archives. Loading them into nodes is hack/localcluster's, pushing them to a registry is Push.
// Enter at Programs, Builder.Build and Inspect.
package images
