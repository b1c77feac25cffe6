package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"kruise.io/kruise/hack/images"
	"kruise.io/kruise/hack/localcluster"
)

func main() {
	wd, _ := os.Getwd()
	b := images.Builder{ModuleRoot: wd, Dir: filepath.Join(wd, ".local/images")}
	list, err := b.Build(context.Background(), images.Fixtures()...)
	fmt.Println(list, err)
	var archives []string
	for _, i := range list {
		archives = append(archives, i.Archive)
	}
	c, err := localcluster.New(localcluster.Config{Name: "local", Dir: filepath.Join(wd, ".local/clusters/local"), ModuleRoot: wd, Nodes: 3, KWOKNodes: 5, Registry: true, MetricsServer: true, Storage: true, Images: archives, Out: os.Stdout, Kubeconfig: filepath.Join(wd, ".local/kubeconfig"), LogDir: filepath.Join(wd, ".local/log")})
	if err == nil {
		switch os.Args[1] {
		case "up":
			err = c.Up(context.Background())
		case "down":
			err = c.Down(context.Background())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
