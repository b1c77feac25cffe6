//go:build unix

package main

import "kruise.io/kruise/hack/localcluster/reaper"

func main() { reaper.Run() }
