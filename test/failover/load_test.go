package failover

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

const (
	loadFoos    = 20
	loadSources = 10
	// loadPeriod is the time between two changes: often enough that a new leader always has something to write.
	loadPeriod = 40 * time.Millisecond
)

// startLoad changes Foos, and opts Deployments in and out, until the test ends.
func startLoad(t *testing.T) {
	t.Helper()
	for i := range loadFoos {
		ensure(t, &v1alpha1.Foo{
			ObjectMeta: metav1.ObjectMeta{Namespace: tenantNamespace, Name: fmt.Sprintf("foo-%d", i)},
			Spec:       v1alpha1.FooSpec{Image: "registry.example/web:0"},
		})
	}
	for i := range loadSources {
		ensure(t, source(i))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			changeSomething(ctx, n)
			select {
			case <-ctx.Done():
			case <-time.After(loadPeriod):
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

func ensure(t *testing.T, object client.Object) {
	t.Helper()
	if err := admin.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// changeSomething makes one change. The API server may be away, and a change fail: there is another one soon.
func changeSomething(ctx context.Context, n int) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if n%5 == 0 {
		object := source(rand.IntN(loadSources))
		patch := `{"metadata":{"annotations":{"` + v1alpha1.BarClassAnnotation + `":"internal"}}}`
		if rand.IntN(2) == 0 {
			patch = `{"metadata":{"annotations":{"` + v1alpha1.BarClassAnnotation + `":null}}}`
		}
		admin.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(patch))) //nolint:errcheck // see above
		return
	}
	foo := &v1alpha1.Foo{ObjectMeta: metav1.ObjectMeta{Namespace: tenantNamespace, Name: fmt.Sprintf("foo-%d", rand.IntN(loadFoos))}}
	patch := fmt.Sprintf(`{"spec":{"image":"registry.example/web:%d"}}`, n)
	admin.Patch(ctx, foo, client.RawPatch("application/merge-patch+json", []byte(patch))) //nolint:errcheck // see above
}

// source is a plain Deployment that opts in and out.
func source(i int) *appsv1.Deployment {
	labels := map[string]string{"app": fmt.Sprintf("plain-%d", i)}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenantNamespace, Name: labels["app"]},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "main", Image: "registry.example/plain:1", Ports: []corev1.ContainerPort{{ContainerPort: 8080}},
				}}},
			},
		},
	}
}
