package integration

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/test/cluster"
)

func TestFooBecomesADeployment(t *testing.T) {
	foo := newFoo("lifecycle", "web", replicas(2))
	create(t, foo)
	waitReady(t, foo)
	waitFor(t, foo, v1alpha1.FooProgressing, "True/"+v1alpha1.ReasonRolloutComplete)

	if foo.Status.ReadyReplicas != 2 || foo.Status.Replicas != 2 || foo.Status.UpdatedReplicas != 2 || foo.Status.Selector == "" {
		t.Errorf("status %+v", foo.Status)
	}
	deployment := deploymentOf(t, foo)
	if !metav1.IsControlledBy(deployment, foo) {
		t.Errorf("the Deployment is not the Foo's: %+v", deployment.OwnerReferences)
	}
	pods := &corev1.PodList{}
	if err := admin.List(t.Context(), pods, client.InNamespace(foo.Namespace), client.MatchingLabels{v1alpha1.FooLabel: "web"}); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 2 {
		t.Fatalf("%d Pods, want 2", len(pods.Items))
	}
	for _, toleration := range pods.Items[0].Spec.Tolerations {
		if toleration.Effect == corev1.TaintEffectNoExecute && ptr.Deref(toleration.TolerationSeconds, 0) != 30 {
			t.Errorf("toleration %+v, want 30 s", toleration)
		}
	}
	if token := pods.Items[0].Spec.AutomountServiceAccountToken; token == nil || *token {
		t.Error("the Pod mounts a token that nobody asked for")
	}
	budget := &policyv1.PodDisruptionBudget{}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(foo), budget); err != nil {
		t.Error(err)
	}
	waitForEvent(t, foo, corev1.EventTypeNormal, "Created")
	waitForEvent(t, foo, corev1.EventTypeNormal, v1alpha1.ReasonAvailable)

	// A change of the spec is rolled out.
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Image = "registry.example/web:2" })
	waitReady(t, foo)
	if got := deploymentOf(t, foo).Spec.Template.Spec.Containers[0].Image; got != "registry.example/web:2" {
		t.Errorf("image %s", got)
	}

	// One Pod needs no budget; none at all is Ready too.
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Replicas = ptr.To[int32](0) })
	waitFor(t, foo, v1alpha1.FooReady, "True/"+v1alpha1.ReasonScaledToZero)
	waitGone(t, budget)

	// Children go with the Foo.
	if err := admin.Delete(t.Context(), foo); err != nil {
		t.Fatal(err)
	}
	waitGone(t, deployment)
}

// Everything that a Foo can say arrives in the Deployment, and is then seen as converged: what the API server defaults and
// rewrites must not look like drift.
func TestCompleteFooConverges(t *testing.T) {
	foo := completeFoo(t, "lifecycle")
	create(t, foo)
	eventually(t, wait, func(ctx context.Context) error {
		return admin.Get(ctx, client.ObjectKeyFromObject(foo), &appsv1.Deployment{})
	})
	waitFor(t, foo, v1alpha1.FooProgressing, "True/"+v1alpha1.ReasonProgressing)
	eventually(t, wait, func(ctx context.Context) error { // none of its Pods starts, so that the state is held back for a moment
		deployment := &appsv1.Deployment{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(foo), deployment); err != nil {
			return err
		}
		if _, _, told := cutState(deployment); !told {
			return fmt.Errorf("annotations %v", deployment.Annotations)
		}
		return nil
	})
	time.Sleep(time.Second) // the first rollout's statuses come to rest
	go func() {             // each touch makes the operator look again
		for range 5 {
			time.Sleep(600 * time.Millisecond)
			touched := deploymentOf(t, foo)
			touched.Labels["example.com/touched"] = strconv.FormatInt(time.Now().UnixNano(), 10)
			_ = admin.Update(context.Background(), touched)
		}
	}()
	assertNoWrites(t, foo, 5*time.Second)
}

func TestDriftIsPutRight(t *testing.T) {
	foo := newFoo("drift", "web", replicas(2))
	create(t, foo)
	waitReady(t, foo)
	original := deploymentOf(t, foo)

	drifts := map[string]func(*appsv1.Deployment){
		"Image":      func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "registry.example/evil:1" },
		"Replicas":   func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](7) },
		"Label":      func(d *appsv1.Deployment) { delete(d.Labels, v1alpha1.FooLabel) },
		"Security":   func(d *appsv1.Deployment) { d.Spec.Template.Spec.SecurityContext.RunAsNonRoot = nil },
		"Toleration": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Tolerations = nil },
	}
	for name, drift := range drifts {
		t.Run(name, func(t *testing.T) {
			deployment := deploymentOf(t, foo)
			change(t, deployment, drift)
			eventually(t, wait, func(ctx context.Context) error {
				if err := admin.Get(ctx, client.ObjectKeyFromObject(foo), deployment); err != nil {
					return err
				}
				spec := deployment.Spec.Template.Spec
				if spec.Containers[0].Image != original.Spec.Template.Spec.Containers[0].Image ||
					*deployment.Spec.Replicas != 2 || deployment.Labels[v1alpha1.FooLabel] != "web" ||
					!ptr.Deref(spec.SecurityContext.RunAsNonRoot, false) || len(spec.Tolerations) != 2 {
					return fmt.Errorf("still %+v", deployment.Spec)
				}
				return nil
			})
		})
	}
	t.Run("Deleted", func(t *testing.T) {
		for _, child := range []client.Object{&appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}} {
			child.SetNamespace(foo.Namespace)
			child.SetName(foo.Name)
			if err := admin.Get(t.Context(), client.ObjectKeyFromObject(child), child); err != nil {
				t.Fatal(err)
			}
			before := child.GetUID()
			if err := admin.Delete(t.Context(), child); err != nil {
				t.Fatal(err)
			}
			eventually(t, wait, func(ctx context.Context) error {
				if err := admin.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil {
					return err
				}
				if child.GetUID() == before {
					return fmt.Errorf("%T not made anew", child)
				}
				return nil
			})
		}
	})
	waitReady(t, foo)

	t.Run("ForeignFieldsStay", func(t *testing.T) {
		deployment := deploymentOf(t, foo)
		change(t, deployment, func(d *appsv1.Deployment) {
			// What `kubectl rollout restart` and a platform's own annotations do.
			d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": time.Now().Format(time.RFC3339)}
			d.Annotations["example.com/cost-center"] = "42"
		})
		waitReady(t, foo)
		always(t, 2*time.Second, func(context.Context) error {
			d := deploymentOf(t, foo)
			if d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] == "" || d.Annotations["example.com/cost-center"] != "42" {
				return fmt.Errorf("fought a foreign field: %v %v", d.Annotations, d.Spec.Template.Annotations)
			}
			return nil
		})
	})
}

func TestForeignObjectsAreLeftAlone(t *testing.T) {
	labels := map[string]string{"app": "mine"}
	foreign := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "conflict", Name: "web", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "mine", Image: "registry.example/mine:1"}}},
			},
		},
	}
	create(t, foreign)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "conflict", Name: "other"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	create(t, budget)

	foo := newFoo("conflict", "web", replicas(2))
	create(t, foo)
	condition := waitFor(t, foo, v1alpha1.FooReady, "False/"+v1alpha1.ReasonConflict)
	if !strings.Contains(condition.Message, `Deployment "web" exists`) || !strings.Contains(condition.Message, "delete it or choose another name") {
		t.Errorf("message %q does not say what to do", condition.Message)
	}
	waitForEvent(t, foo, corev1.EventTypeWarning, v1alpha1.ReasonConflict)
	other := newFoo("conflict", "other", replicas(2))
	create(t, other)
	waitFor(t, other, v1alpha1.FooReady, "False/"+v1alpha1.ReasonConflict)

	always(t, 2*time.Second, func(ctx context.Context) error {
		now := &appsv1.Deployment{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(foreign), now); err != nil {
			return err
		}
		if now.Generation != 1 || len(now.OwnerReferences) > 0 || now.Spec.Template.Spec.Containers[0].Name != "mine" {
			return fmt.Errorf("touched: %+v", now)
		}
		return nil
	})

	// Once they are out of the way, the Foos are served without being touched.
	for _, object := range []client.Object{foreign, budget} {
		if err := admin.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	waitReady(t, foo)
	waitReady(t, other)
}

func TestRefusalsReachTheFoo(t *testing.T) {
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "refused", Name: "limits"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			"count/deployments.apps": resource.MustParse("1"),
			"pods":                   resource.MustParse("1"),
		}},
	}
	create(t, quota)
	eventually(t, wait, func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		if len(quota.Status.Hard) != 2 {
			return fmt.Errorf("quota not active: %+v", quota.Status)
		}
		return nil
	})

	t.Run("QuotaOfPods", func(t *testing.T) {
		foo := newFoo("refused", "pods", replicas(2))
		create(t, foo)
		condition := waitFor(t, foo, v1alpha1.FooReady, "False/"+v1alpha1.ReasonReplicaFailure)
		if !strings.Contains(condition.Message, "exceeded quota: limits") {
			t.Errorf("message %q is not the API server's", condition.Message)
		}

		second := newFoo("refused", "deployments")
		create(t, second)
		condition = waitFor(t, second, v1alpha1.FooReady, "False/"+v1alpha1.ReasonRefused)
		if !strings.Contains(condition.Message, "exceeded quota: limits") {
			t.Errorf("message %q is not the API server's", condition.Message)
		}
		waitForEvent(t, second, corev1.EventTypeWarning, v1alpha1.ReasonRefused)
		assertNoWrites(t, second, 3*time.Second) // no hot retry
	})
	t.Run("LimitRange", func(t *testing.T) {
		limits := &corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: "secured", Name: "limits"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
			}}},
		}
		create(t, limits)
		foo := newFoo("secured", "large", func(f *v1alpha1.Foo) {
			f.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}
		})
		create(t, foo)
		condition := waitFor(t, foo, v1alpha1.FooReady, "False/"+v1alpha1.ReasonReplicaFailure)
		if !strings.Contains(condition.Message, "maximum memory usage per Container is 64Mi") {
			t.Errorf("message %q is not the API server's", condition.Message)
		}
	})
}

func TestRolloutStatesAreMirrored(t *testing.T) {
	foo := newFoo("rollout", "web", replicas(2))
	create(t, foo)
	waitReady(t, foo)
	change(t, foo, func(f *v1alpha1.Foo) {
		f.Spec.Image = cluster.NeverReadyImage
		f.Spec.ProgressDeadlineSeconds = ptr.To[int32](3)
	})
	condition := waitFor(t, foo, v1alpha1.FooReady, "False/"+v1alpha1.ReasonProgressDeadlineExceeded)
	waitFor(t, foo, v1alpha1.FooProgressing, "False/"+v1alpha1.ReasonProgressDeadlineExceeded)
	if !strings.Contains(condition.Message, "timed out progressing") {
		t.Errorf("message %q", condition.Message)
	}
	if foo.Status.ReadyReplicas < 1 {
		t.Error("the Pods of the old version do not go on")
	}
	waitForEvent(t, foo, corev1.EventTypeWarning, v1alpha1.ReasonProgressDeadlineExceeded)

	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Image = "registry.example/web:3" })
	waitReady(t, foo)
	waitFor(t, foo, v1alpha1.FooProgressing, "True/"+v1alpha1.ReasonRolloutComplete)
}

func TestScaling(t *testing.T) {
	foo := newFoo("scaling", "web", replicas(3), func(f *v1alpha1.Foo) {
		f.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	})
	create(t, foo)
	waitReady(t, foo)

	// The scale subresource, as kubectl scale and an HPA on the Foo use it.
	scale := &autoscalingv1.Scale{}
	if err := admin.SubResource("scale").Get(t.Context(), foo, scale); err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 3 || scale.Status.Replicas != 3 || scale.Status.Selector != "controlee.dev/foo=web" {
		t.Errorf("scale %+v", scale)
	}
	scale.Spec.Replicas = 4
	if err := admin.SubResource("scale").Update(t.Context(), foo, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	waitReady(t, foo)
	if foo.Status.ReadyReplicas != 4 {
		t.Errorf("%d ready, want 4", foo.Status.ReadyReplicas)
	}

	// Over to an autoscaler: it starts from the present number, and the operator leaves that number to it.
	change(t, foo, func(f *v1alpha1.Foo) {
		f.Spec.Replicas = nil
		f.Spec.Autoscaling = &v1alpha1.Autoscaling{MinReplicas: ptr.To[int32](2), MaxReplicas: 6}
	})
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{}
	eventually(t, wait, func(ctx context.Context) error {
		return admin.Get(ctx, client.ObjectKeyFromObject(foo), autoscaler)
	})
	if target := autoscaler.Spec.Metrics[0].Resource.Target.AverageUtilization; ptr.Deref(target, 0) != 80 {
		t.Errorf("target %v, want the default 80", target)
	}
	waitReady(t, foo)
	if got := *deploymentOf(t, foo).Spec.Replicas; got != 4 {
		t.Errorf("the change to autoscaling set the number to %d, want the present 4", got)
	}
	deployment := deploymentOf(t, foo)
	scale = &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
	if err := admin.SubResource("scale").Update(t.Context(), deployment, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Image = "registry.example/web:2" }) // makes the operator write
	waitReady(t, foo)
	if got := *deploymentOf(t, foo).Spec.Replicas; got != 5 {
		t.Errorf("the operator set the number to %d against the autoscaler's 5", got)
	}

	// And back: the autoscaler goes, the spec rules again.
	change(t, foo, func(f *v1alpha1.Foo) { f.Spec.Autoscaling, f.Spec.Replicas = nil, ptr.To[int32](1) })
	waitGone(t, autoscaler)
	waitReady(t, foo)
	if got := *deploymentOf(t, foo).Spec.Replicas; got != 1 {
		t.Errorf("%d replicas, want 1", got)
	}
	waitGone(t, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: foo.Namespace, Name: foo.Name}})
}

func TestDeletion(t *testing.T) {
	t.Run("RecreatedUnderTheSameName", func(t *testing.T) {
		foo := newFoo("deletion", "again")
		create(t, foo)
		waitReady(t, foo)
		old := deploymentOf(t, foo)
		if err := admin.Delete(t.Context(), foo); err != nil {
			t.Fatal(err)
		}
		again := newFoo("deletion", "again", func(f *v1alpha1.Foo) { f.Spec.Image = "registry.example/web:2" })
		create(t, again)
		waitReady(t, again)
		if fresh := deploymentOf(t, again); fresh.UID == old.UID || !metav1.IsControlledBy(fresh, again) {
			t.Errorf("the new Foo has the old one's Deployment: %+v", fresh.ObjectMeta)
		}
	})
	t.Run("Foreground", func(t *testing.T) {
		foo := newFoo("deletion", "foreground", replicas(2))
		create(t, foo)
		waitReady(t, foo)
		deployment := deploymentOf(t, foo)
		if err := admin.Delete(t.Context(), foo, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			t.Fatal(err)
		}
		waitGone(t, foo)
		// The Foo was kept until its children were gone.
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment)
		if client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("the Deployment outlived a foreground deletion: %v", err)
		}
	})
	t.Run("Orphaned", func(t *testing.T) {
		foo := newFoo("deletion", "orphaned")
		create(t, foo)
		waitReady(t, foo)
		deployment := deploymentOf(t, foo)
		if err := admin.Delete(t.Context(), foo, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
			t.Fatal(err)
		}
		waitGone(t, foo)
		always(t, 2*time.Second, func(ctx context.Context) error {
			return admin.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)
		})
		again := newFoo("deletion", "orphaned")
		create(t, again)
		waitFor(t, again, v1alpha1.FooReady, "False/"+v1alpha1.ReasonConflict)
		if err := admin.Delete(t.Context(), deployment); err != nil {
			t.Fatal(err)
		}
		waitReady(t, again)
	})
}
