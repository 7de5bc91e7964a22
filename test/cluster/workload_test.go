package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func testDeployment(t *testing.T, c *Cluster) {
	namespace := makeNamespace(t, c, "deployment")
	client := clientset(t, c.AdminConfig())
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](6),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "controlee.invalid/web"}}},
			},
		},
	}
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) error {
		d, err := client.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != 6 {
			err = fmt.Errorf("%+v", d.Status)
		}
		return err
	})
	nodes := map[string]bool{}
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		nodes[pod.Spec.NodeName] = true
	}
	if len(nodes) != 3 {
		t.Errorf("the pods are on %v, want all three nodes", nodes)
	}

	stuck := deployment.DeepCopy()
	stuck.Name, stuck.Spec.Replicas = "stuck", ptr.To[int32](1)
	stuck.Spec.Selector.MatchLabels, stuck.Spec.Template.Labels = map[string]string{"app": "stuck"}, map[string]string{"app": "stuck"}
	stuck.Spec.Template.Spec.Containers[0].Image = NeverReadyImage
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), stuck, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) error {
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=stuck", FieldSelector: "spec.nodeName!="})
		if err == nil && len(pods.Items) != 1 {
			err = fmt.Errorf("%d pods are scheduled, want 1", len(pods.Items))
		}
		return err
	})
	time.Sleep(500 * time.Millisecond) // a ready pod is ready much sooner than this
	d, err := client.AppsV1().Deployments(namespace).Get(t.Context(), "stuck", metav1.GetOptions{})
	if err != nil || d.Status.ReadyReplicas != 0 {
		t.Errorf("a container of the image that is never ready: %+v, %v", d.Status, err)
	}
}

// testGarbage shows that garbage is collected and that what a namespace holds goes with it.
func testGarbage(t *testing.T, c *Cluster) {
	namespace := makeNamespace(t, c, "garbage")
	client := clientset(t, c.AdminConfig())
	owner, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}
	if _, err := client.CoreV1().Secrets(namespace).Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) error {
		_, err := client.CoreV1().Secrets(namespace).Get(ctx, "owned", metav1.GetOptions{})
		return wantNotFound(err)
	})
	if err := client.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) error {
		_, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return wantNotFound(err)
	})
}

func wantNotFound(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil:
		return errors.New("it is still there")
	default:
		return fmt.Errorf("got %w, want not found", err)
	}
}
