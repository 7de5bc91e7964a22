package v1alpha1_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/controlee/controlee/test/cluster"
)

const (
	testNamespace = "team-a"
	startTimeout  = 30 * time.Minute // the first start on a machine builds the programs
	callTimeout   = 30 * time.Second
)

var (
	crdGVR       = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaceGVR = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// server is the API server of all tests of this package, with the CRDs of this repository.
var server struct {
	config   *rest.Config
	client   dynamic.Interface
	crds     []*unstructured.Unstructured // as they were answered once established
	warnings []string                     // what the API server warned of when it took the CRDs
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()

	c, err := cluster.Start(ctx, cluster.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)

		return 1
	}
	code := 1
	if err := prepare(ctx, c.AdminConfig()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = max(m.Run(), checkEveryRuleRefused())
	}
	if err := c.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}

	return code
}

// checkEveryRuleRefused returns 1 if a rule of the CRDs refused nothing in any test: then it has no test, or can never refuse. It asks only when
// all tests ran.
func checkEveryRuleRefused() int {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			return 0
		}
	}
	code := 0
	for _, crd := range server.crds {
		root, err := schemaIn(crd)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)

			return 1
		}
		walk(root, crd.GetName(), func(path string, schema map[string]any) {
			rules, ok := schema["x-kubernetes-validations"].([]any)
			if !ok {
				return
			}
			for _, r := range rules {
				rule, ok := r.(map[string]any)
				if message, isText := rule["message"].(string); !ok || !isText || !refusals.contain(message) {
					fmt.Fprintf(os.Stderr, "FAIL: no test was refused by the rule of %s: %v\n", path, rule)
					code = 1
				}
			}
		})
	}

	return code
}

// prepare installs the CRDs, waits until they are served, and makes the namespace.
func prepare(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no client-side limit
	warnings := &warningRecorder{}
	config.WarningHandlerWithContext = warnings

	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	server.config, server.client = config, client

	files, err := filepath.Glob("../../../crds/*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		crd, err := readObject(file)
		if err != nil {
			return err
		}
		if _, err := client.Resource(crdGVR).Create(ctx, crd, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
			return fmt.Errorf("create the CRD of %s: %w", file, err)
		}
		crd, err = waitEstablished(ctx, client, crd.GetName())
		if err != nil {
			return err
		}
		server.crds = append(server.crds, crd)
	}
	server.warnings = warnings.seen()

	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": testNamespace},
	}}
	_, err = client.Resource(namespaceGVR).Create(ctx, namespace, metav1.CreateOptions{})

	return err
}

func waitEstablished(ctx context.Context, client dynamic.Interface, name string) (*unstructured.Unstructured, error) {
	var crd *unstructured.Unstructured
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, callTimeout, true, func(ctx context.Context) (bool, error) {
		var err error
		crd, err = client.Resource(crdGVR).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}

		return conditionStatus(crd, "Established") == "True", nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the CRD %s: %w", name, err)
	}

	return crd, nil
}

// conditionStatus returns the status of a condition, "" without it.
func conditionStatus(obj *unstructured.Unstructured, conditionType string) string {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == conditionType {
			status, _ := condition["status"].(string)

			return status
		}
	}

	return ""
}

// warningRecorder keeps the warnings of the API server.
type warningRecorder struct {
	mu   sync.Mutex
	text []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warningRecorder) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warningRecorder) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()

	return append([]string(nil), w.text...)
}
