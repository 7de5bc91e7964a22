// Command up runs a test cluster until it is interrupted, to try things on.
//
//	go run ./test/cluster/cmd/up -nodes 3
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/cluster/programs"
	"github.com/controlee/controlee/test/cluster/repo"
)

func main() {
	options := cluster.Options{ControllerManager: true}
	flag.IntVar(&options.Nodes, "nodes", 3, "how many nodes pretend to run pods")
	flag.BoolVar(&options.AuditLog, "audit", false, "keep an audit log")
	flag.StringVar(&options.Dir, "dir", "", "folder for data, keys and logs (default a new one)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, options); err != nil {
		fmt.Fprintln(os.Stderr, "up:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options cluster.Options) (err error) {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	kubectl, err := programs.Find(ctx, root, os.Stderr, "kubectl")
	if err != nil {
		return err
	}
	c, err := cluster.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	kubeconfig, err := c.AdminKubeconfig()
	if err != nil {
		return err
	}
	fmt.Printf("Kubernetes %s is up, its logs are in %s. In another shell:\n\n", c.Version, filepath.Join(c.Dir, "logs"))
	fmt.Printf("  export KUBECONFIG=%s PATH=%s:$PATH\n  kubectl get nodes\n\nCtrl-C ends it.\n", kubeconfig, filepath.Dir(kubectl["kubectl"]))
	<-ctx.Done()
	return nil
}
