package foo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/retry"
)

// rolledOut makes the Deployment of object() with n Pods, all of them new, ready and counted.
func rolledOut(n int32, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "team-a", UID: "uid-deployment", Generation: 2,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(object(), v1alpha1.GroupVersion.WithKind("Foo"))},
		},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To(n)},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 2, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
			Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", Message: "done",
			}},
		},
	}
	for _, change := range changes {
		change(d)
	}
	return d
}

func condition(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		if existing := deploymentCondition(d, kind); existing != nil {
			existing.Status, existing.Reason, existing.Message = status, reason, message
			return
		}
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

func TestConditions(t *testing.T) {
	rolling := condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "ReplicaSetUpdated", "updating")
	cases := map[string]struct {
		reason      string
		deployment  *appsv1.Deployment
		refusal     *retry.Refusal
		ready       string // status/reason
		progressing string
		message     string // part of Ready's message
	}{
		"Done": {
			reason:     "All Pods new and ready is Ready.",
			deployment: rolledOut(3), ready: "True/Available", progressing: "True/RolloutComplete", message: "all 3 Pods are ready",
		},
		"ScaledToZero": {
			reason:     "Nothing wanted and nothing there is Ready: kstatus readers must not wait for ever.",
			deployment: rolledOut(0), ready: "True/ScaledToZero", progressing: "True/RolloutComplete",
		},
		"JustCreated": {
			reason:     "A Deployment without a status says nothing yet.",
			deployment: rolledOut(2, func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }),
			ready:      "False/Progressing", progressing: "True/Progressing",
		},
		"SpecNotSeen": {
			reason:     "What the Deployment says of an earlier spec does not count.",
			deployment: rolledOut(2, func(d *appsv1.Deployment) { d.Generation = 3 }),
			ready:      "False/Progressing", progressing: "True/Progressing", message: "has not seen the present spec",
		},
		"PausedHalfway": {
			reason:     "Somebody has to resume it; waiting does not help.",
			deployment: rolledOut(3, rolling, func(d *appsv1.Deployment) { d.Spec.Paused, d.Status.UpdatedReplicas = true, 1 }),
			ready:      "False/Progressing", progressing: "True/Progressing", message: "kubectl rollout resume deployment/web",
		},
		"PausedWhenDone": {
			reason:     "A pause that holds up nothing is nobody's business.",
			deployment: rolledOut(3, func(d *appsv1.Deployment) { d.Spec.Paused = true }), ready: "True/Available", progressing: "True/RolloutComplete",
		},
		"BeingDeleted": {
			reason: "It is made anew, unless somebody holds it.",
			deployment: rolledOut(3, func(d *appsv1.Deployment) {
				d.DeletionTimestamp, d.Finalizers = ptr.To(metav1.Now()), []string{"example.com/a", "example.com/b"}
			}),
			ready: "False/Progressing", progressing: "True/RolloutComplete", message: "held by the finalizers example.com/a, example.com/b",
		},
		"SomeUpdated": {
			reason:     "Ready old Pods do not make the present spec ready.",
			deployment: rolledOut(3, rolling, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }),
			ready:      "False/Progressing", progressing: "True/Progressing", message: "1 of 3 Pods run the present spec",
		},
		"OldOnesLeft": {
			reason:     "A rollout ends when the last old Pod is gone.",
			deployment: rolledOut(3, rolling, func(d *appsv1.Deployment) { d.Status.Replicas = 4 }),
			ready:      "False/Progressing", progressing: "True/Progressing", message: "1 Pods of an earlier spec",
		},
		"PodsNotReady": {
			reason:     "After a rollout Pods can still fail: Ready follows, Progressing does not.",
			deployment: rolledOut(3, func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }),
			ready:      "False/PodsNotReady", progressing: "True/RolloutComplete", message: "2 of 3 Pods are ready",
		},
		"DeadlineExceeded": {
			reason: "A stuck rollout is told from a slow one.",
			deployment: rolledOut(3, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 },
				condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", "timed out")),
			ready: "False/ProgressDeadlineExceeded", progressing: "False/ProgressDeadlineExceeded", message: "timed out",
		},
		"QuotaForPods": {
			reason: "The API server's words on a refused Pod reach the tenant, who may not see them elsewhere.",
			deployment: rolledOut(3, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }, rolling,
				condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", `pods "web-1" is forbidden: exceeded quota: pods`)),
			ready: "False/ReplicaFailure", progressing: "True/Progressing", message: "exceeded quota: pods",
		},
		"QuotaPassed": {
			reason:     "A failure that is over is no failure.",
			deployment: rolledOut(1, condition(appsv1.DeploymentReplicaFailure, corev1.ConditionFalse, "", "")),
			ready:      "True/Available", progressing: "True/RolloutComplete",
		},
		"Paused": {
			reason:     "A rollout paused by hand is neither going on nor failed.",
			deployment: rolledOut(1, condition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentPaused", "paused")),
			ready:      "True/Available", progressing: "Unknown/DeploymentPaused",
		},
		"Refused": {
			reason:     "What the API server refused is not rolled out, even if the old Deployment is healthy.",
			deployment: rolledOut(3), refusal: &retry.Refusal{Reason: v1alpha1.ReasonRefused, Message: "exceeded quota"},
			ready: "False/Refused", progressing: "False/Refused", message: "exceeded quota",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ready, progressing := conditions(tc.deployment, tc.refusal)
			if got := string(ready.Status) + "/" + ready.Reason; got != tc.ready {
				t.Errorf("%s\nReady: got %s, want %s", tc.reason, got, tc.ready)
			}
			if got := string(progressing.Status) + "/" + progressing.Reason; got != tc.progressing {
				t.Errorf("%s\nProgressing: got %s, want %s", tc.reason, got, tc.progressing)
			}
			if !strings.Contains(ready.Message, tc.message) {
				t.Errorf("%s\nmessage %q, want it to contain %q", tc.reason, ready.Message, tc.message)
			}
		})
	}
}

func TestDesireStatus(t *testing.T) {
	foo := object()
	status := desireStatus(foo, rolledOut(3), nil, nil)
	want := v1alpha1.FooStatus{ObservedGeneration: 3, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, Selector: "controlee.dev/foo=web"}
	got := status
	got.Conditions = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}

	t.Run("ForeignDeployment", func(t *testing.T) {
		foreign := rolledOut(3, func(d *appsv1.Deployment) { d.OwnerReferences = nil })
		status := desireStatus(foo, foreign, nil, &retry.Refusal{Reason: v1alpha1.ReasonConflict, Message: "in the way"})
		if status.Replicas != 0 || status.ReadyReplicas != 0 || status.UpdatedReplicas != 0 {
			t.Errorf("counts the Pods of a Deployment that is not the Foo's: %+v", status)
		}
	})
	t.Run("Exposed", func(t *testing.T) {
		exposed := &exposure{condition: metav1.Condition{Type: v1alpha1.FooExposed, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonBarPending}, address: "192.0.2.1"}
		with := object()
		with.Status = desireStatus(foo, rolledOut(1), exposed, nil)
		if meta.FindStatusCondition(with.Status.Conditions, v1alpha1.FooExposed) == nil || with.Status.Address != "192.0.2.1" {
			t.Fatalf("not exposed: %+v", with.Status)
		}
		without := desireStatus(with, rolledOut(1), nil, nil)
		if meta.FindStatusCondition(without.Conditions, v1alpha1.FooExposed) != nil || without.Address != "" {
			t.Errorf("a Foo without bar still says that it is exposed: %+v", without)
		}
	})
	t.Run("KeepsWhatIsNotItsOwn", func(t *testing.T) {
		with := object()
		with.Status.Conditions = []metav1.Condition{{Type: "Audited", Status: metav1.ConditionTrue, Reason: "ByHand"}}
		if meta.FindStatusCondition(desireStatus(with, rolledOut(1), nil, nil).Conditions, "Audited") == nil {
			t.Error("dropped somebody else's condition")
		}
	})
	t.Run("StaysReady", func(t *testing.T) {
		annotated := func(d *appsv1.Deployment) { d.Generation, d.Status.ObservedGeneration = 5, 4 }
		recorded := object()
		recorded.Status = status
		if !meta.IsStatusConditionTrue(desireStatus(recorded, rolledOut(3, annotated), nil, nil).Conditions, v1alpha1.FooReady) {
			t.Error("an annotation of the Deployment makes a Foo that did not change not ready")
		}
		recorded.Generation++
		if meta.IsStatusConditionTrue(desireStatus(recorded, rolledOut(3, annotated), nil, nil).Conditions, v1alpha1.FooReady) {
			t.Error("a Foo that changed is ready before the Deployment's controller has seen that")
		}
	})
	t.Run("Stable", func(t *testing.T) {
		recorded := object()
		recorded.Status = status
		if diff := cmp.Diff(status, desireStatus(recorded, rolledOut(3), nil, nil)); diff != "" {
			t.Errorf("a status that is written once would be written again: -first +second\n%s", diff)
		}
	})
}
