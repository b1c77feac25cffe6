//go:build !linux

package localcluster

import (
	"errors"
	"os/exec"
)

// The package compiles on other systems, so that editors and linters work there. The cluster does not run there.
type namespaces int

const (
	netOnly namespaces = iota
	inCluster
	inNode
	fromNowhere
)

var errNotLinux = errors.New("the local cluster runs only on Linux")

func startInit(int, *exec.Cmd) error { return errNotLinux }

func startIn(int, namespaces, *exec.Cmd) error { return errNotLinux }

func freeDisk(string) (int64, error) { return 0, errNotLinux }
