// Package kubelet reads what the kubelet writes on the containers that it creates: whose they are, and which instance of a container
// each one is.
//
// The functions do not change anything. Enter at List and Newest.
package kubelet
