package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

const gatewayAPI = "sigs.k8s.io/gateway-api"

// CRDs is the resource of CustomResourceDefinitions.
var CRDs = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// InstallGatewayAPI installs CRDs of the Gateway API by the names of their resources, such as httproutes, and waits until they are served.
// Those that are there already stay as they are.
func (c *Cluster) InstallGatewayAPI(ctx context.Context, resources ...string) error {
	dir, err := c.gatewayCRDs(ctx)
	if err != nil {
		return err
	}
	var paths []string
	for _, resource := range resources {
		paths = append(paths, filepath.Join(dir, "gateway.networking.k8s.io_"+resource+".yaml"))
	}
	return c.InstallCRDs(ctx, paths...)
}

// InstallCRDs installs the CRDs of some files, and waits until they are served. Those that are there already stay as they are.
func (c *Cluster) InstallCRDs(ctx context.Context, paths ...string) error {
	client, err := dynamic.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	for _, path := range paths {
		data, err := os.ReadFile(path) //nolint:gosec // the test's own choice
		if err != nil {
			return err
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &crd.Object); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if _, err := client.Resource(CRDs).Apply(ctx, crd.GetName(), crd, metav1.ApplyOptions{FieldManager: "test"}); err != nil {
			return err
		}
		if err := waitEstablished(ctx, client, crd.GetName()); err != nil {
			return fmt.Errorf("wait for the CRD %s: %w", crd.GetName(), err)
		}
	}
	return nil
}

func waitEstablished(ctx context.Context, client dynamic.Interface, name string) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		crd, err := client.Resource(CRDs).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
		if err != nil {
			return false, nil //nolint:nilerr // a new CRD has null there
		}
		return slices.ContainsFunc(conditions, func(condition any) bool {
			fields, ok := condition.(map[string]any)
			return ok && fields["type"] == "Established" && fields["status"] == "True"
		}), nil
	})
}

// gatewayCRDs gives the folder of the CRDs: it is in Go's module cache, in the version that the module beside this file pins.
func (c *Cluster) gatewayCRDs(ctx context.Context) (string, error) {
	module := filepath.Join(c.root, "test", "cluster", "gatewayapi")
	if _, err := goCommand(ctx, module, "mod", "download", gatewayAPI); err != nil {
		return "", err
	}
	dir, err := goCommand(ctx, module, "list", "-m", "-f", "{{.Dir}}", gatewayAPI)
	return filepath.Join(strings.TrimSpace(dir), "config", "crd", "standard"), err
}

func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are this file's
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	output, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	if err != nil {
		return "", err
	}
	return string(output), nil
}
