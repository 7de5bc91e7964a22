package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
	"github.com/controlee/controlee/test/cluster/repo"
	"github.com/controlee/controlee/test/demo/internal/tell"
)

// Names of what is installed. The namespaces of the teams are those of values.yaml and examples/foo.yaml.
const (
	releaseName      = "controlee"
	systemNamespace  = "controlee-system"
	operatorName     = "controlee" // of the Deployment and the ServiceAccount
	teamANamespace   = "team-a"
	teamBNamespace   = "team-b"
	operatorReplicas = 2
	exampleFile      = "examples/foo.yaml"
	valuesFile       = "test/demo/values.yaml"
)

// patience is how long anything may take that is usually done in a few seconds; patienceFlag is the same for kubectl.
const (
	patience     = 5 * time.Minute
	patienceFlag = "5m"
)

// world is where the story happens, and who is in it. The first steps fill it.
type world struct {
	page    *tell.Page
	options options
	cleanup tell.Cleanup

	root      string
	dir       string // kubeconfig files, the operator's binary, logs; removed at the end
	kubectl   string // the program
	binary    string // the operator's
	cluster   *cluster.Cluster
	client    client.WithWatch // the admin's
	installed bool             // or half so
	operators operators

	admin, teamA, teamB person
	// foo is the one in examples/foo.yaml.
	foo v1alpha1.Foo
}

func newWorld(page *tell.Page, options options) *world {
	return &world{page: page, options: options}
}

// demonstrate tells the story, and then stays until it is told to end.
func (w *world) demonstrate(ctx context.Context) error {
	if err := w.prepare(); err != nil {
		return err
	}
	start := time.Now()
	told, err := tell.Tell(ctx, w.page, w.story())
	if ctx.Err() == nil {
		w.page.Summary(told)
	}
	if err != nil {
		return err
	}
	w.page.Line("")
	w.page.Heading("That is the story, told in %s.", tell.Duration(time.Since(start)))
	if w.options.exit {
		return nil
	}
	w.page.Line("")
	w.invite()
	return w.stay(ctx)
}

// prepare finds the checkout, goes there, so that the commands that are printed hold, and reads the example.
func (w *world) prepare() (err error) {
	if w.root, err = repo.Root(); err != nil {
		return err
	}
	if err := os.Chdir(w.root); err != nil {
		return err
	}
	example, err := os.ReadFile(exampleFile)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(example, &w.foo); err != nil {
		return fmt.Errorf("read %s: %w", exampleFile, err)
	}
	if w.foo.Namespace != teamANamespace || w.foo.Spec.Replicas == nil {
		return fmt.Errorf("%s must be in namespace %s and set replicas", exampleFile, teamANamespace)
	}
	if w.dir, err = os.MkdirTemp("", "controlee-demo-"); err != nil {
		return err
	}
	w.cleanup.Add("remove files", func(context.Context) error { return os.RemoveAll(w.dir) })
	return nil
}

// stay waits until it is told to end, or the control plane has.
func (w *world) stay(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
			if err := w.cluster.Died(); err != nil && ctx.Err() == nil {
				return fmt.Errorf("the control plane ended: %w", err)
			}
		}
	}
}

// explain shows what helps to find out why a step failed: what there is, and the ends of the logs. The logs are kept.
func (w *world) explain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if w.installed {
		w.page.Line("")
		w.page.Heading("What there is:")
		for _, args := range [][]string{
			{"get", "foos,deployments,poddisruptionbudgets,pods", "-n", teamANamespace},
			{"describe", "foos", "-n", teamANamespace},
			{"get", "deployments,pods,leases,tenants,bars", "-n", systemNamespace},
		} {
			w.try(ctx, w.admin, args...) //nolint:errcheck // what it says is printed
		}
	}
	if w.operators != nil {
		w.page.Line("")
		w.page.Heading("The ends of the operator's logs:")
		w.page.Output(w.operators.logs(ctx))
	}
	if kept, err := w.keepLogs(); err != nil {
		w.page.Line("The logs could not be kept: %v", err)
	} else if kept != "" {
		w.page.Line("")
		w.page.Heading("All logs are kept in %s", kept)
	}
}

// keepLogs copies the logs to where the cleanup does not reach.
func (w *world) keepLogs() (string, error) {
	logs := filepath.Join(w.dir, "logs")
	if files, err := os.ReadDir(logs); errors.Is(err, os.ErrNotExist) || len(files) == 0 {
		return "", nil
	}
	kept, err := os.MkdirTemp("", "controlee-demo-failed-")
	if err != nil {
		return "", err
	}
	return kept, os.CopyFS(kept, os.DirFS(logs))
}
