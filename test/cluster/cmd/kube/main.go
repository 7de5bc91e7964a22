// Command kube builds the Kubernetes programs that the tests and the demonstration run.
//
//	go run ./test/cluster/cmd/kube build    builds them if they are missing, and prints their folder
//	go run ./test/cluster/cmd/kube path     prints the folder they are in, or will be
//	go run ./test/cluster/cmd/kube version  prints the version of Kubernetes
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/controlee/controlee/test/cluster/programs"
	"github.com/controlee/controlee/test/cluster/repo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	line, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube:", err)
		os.Exit(1)
	}
	fmt.Println(line)
}

func run(ctx context.Context, arguments []string) (string, error) {
	root, err := repo.Root()
	if err != nil {
		return "", err
	}
	if len(arguments) == 1 {
		switch arguments[0] {
		case "build":
			return programs.Build(ctx, root, os.Stderr)
		case "path":
			return programs.Dir(root)
		case "version":
			return programs.Version(root)
		}
	}
	return "", errors.New("usage: kube build|path|version")
}
