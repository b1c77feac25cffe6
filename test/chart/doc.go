// Package chart renders artifacts/helm/kruise with the real helm and judges what comes out.
//
// It owns what an installation must look like: names, access rights, security contexts, what depends on which value.
// That the objects work is the e2e tests' matter. Enter at render.
package chart
