package foo

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/message"
	"github.com/controlee/controlee/pkg/retry"
)

// report writes the status, if it differs, and announces the conditions that changed.
func (r *Reconciler) report(ctx context.Context, foo *v1alpha1.Foo, live *children, refusal *retry.Refusal) error {
	exposed, err := r.exposed(ctx, foo, &live.deployment, refusal)
	if err != nil {
		return err
	}
	status := desireStatus(foo, &live.deployment, exposed, refusal)
	if equality.Semantic.DeepEqual(status, foo.Status) {
		return nil
	}
	changed := foo.DeepCopy()
	changed.Status = status
	// With the resource version: the status must not speak of a spec that was changed in the meantime.
	patch := client.MergeFromWithOptions(foo, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, changed, patch); err != nil {
		return err
	}
	r.announce(foo, foo.Status.Conditions, status.Conditions)
	return nil
}

// desireStatus says what a Foo's status is, given its Deployment, how it is exposed (nil without a load balancer), and
// what the API server refused, if anything.
func desireStatus(foo *v1alpha1.Foo, deployment *appsv1.Deployment, exposed *exposure, refusal *retry.Refusal) v1alpha1.FooStatus {
	status := *foo.Status.DeepCopy()
	status.ObservedGeneration = foo.Generation
	status.Selector = k8slabels.SelectorFromSet(selector(foo)).String()
	status.Replicas, status.UpdatedReplicas, status.ReadyReplicas = 0, 0, 0
	if metav1.IsControlledBy(deployment, foo) {
		status.Replicas = deployment.Status.Replicas
		status.UpdatedReplicas = deployment.Status.UpdatedReplicas
		status.ReadyReplicas = deployment.Status.ReadyReplicas
	}

	var now []metav1.Condition
	if refusal != nil || !staysReady(foo, deployment) {
		ready, progressing := conditions(deployment, refusal)
		now = append(now, ready, progressing)
	}
	status.Address = ""
	if exposed == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.FooExposed)
	} else {
		now = append(now, exposed.condition)
		status.Address = exposed.address
	}
	for _, condition := range now {
		condition.ObservedGeneration = foo.Generation
		condition.Message = message.Shorten(condition.Message, message.MaxCondition)
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	return status
}

// staysReady says whether a Foo that was ready is taken for ready until the Deployment's controller has looked at what changed: the Foo
// itself did not, and a Deployment's generation rises with an annotation as well, such as the one that tells of its load balancer.
func staysReady(foo *v1alpha1.Foo, deployment *appsv1.Deployment) bool {
	return foo.Status.ObservedGeneration == foo.Generation && meta.IsStatusConditionTrue(foo.Status.Conditions, v1alpha1.FooReady) &&
		metav1.IsControlledBy(deployment, foo) && deployment.DeletionTimestamp.IsZero() &&
		deployment.Status.ObservedGeneration > 0 && deployment.Status.ObservedGeneration < deployment.Generation
}

// conditions gives Ready and Progressing. They follow the rules of `kubectl rollout status`: what the Deployment says counts
// only once its controller has seen the present spec.
func conditions(deployment *appsv1.Deployment, refusal *retry.Refusal) (ready, progressing metav1.Condition) {
	ready = metav1.Condition{Type: v1alpha1.FooReady, Status: metav1.ConditionFalse}
	progressing = metav1.Condition{Type: v1alpha1.FooProgressing, Status: metav1.ConditionFalse}
	if refusal != nil {
		ready.Reason, ready.Message = refusal.Reason, refusal.Message
		progressing.Reason, progressing.Message = refusal.Reason, refusal.Message
		return ready, progressing
	}
	progressing = rollout(deployment)
	want, now := ptr.Deref(deployment.Spec.Replicas, 1), deployment.Status
	failure := deploymentCondition(deployment, appsv1.DeploymentReplicaFailure)
	switch {
	case !deployment.DeletionTimestamp.IsZero():
		ready.Reason, ready.Message = v1alpha1.ReasonProgressing, beingDeleted(deployment)
	case now.ObservedGeneration < deployment.Generation:
		ready.Reason, ready.Message = v1alpha1.ReasonProgressing, "the Deployment's controller has not seen the present spec yet"
	case failure != nil && failure.Status == corev1.ConditionTrue:
		ready.Reason, ready.Message = v1alpha1.ReasonReplicaFailure, failure.Message
	case progressing.Status == metav1.ConditionFalse:
		ready.Reason, ready.Message = progressing.Reason, progressing.Message
	case deployment.Spec.Paused && (now.UpdatedReplicas < want || now.Replicas > now.UpdatedReplicas):
		ready.Reason, ready.Message = v1alpha1.ReasonProgressing,
			fmt.Sprintf("the Deployment is paused: `kubectl rollout resume deployment/%s --namespace %s` lets it go on; %d of %d Pods run the present spec",
				deployment.Name, deployment.Namespace, now.UpdatedReplicas, want)
	case now.UpdatedReplicas < want:
		ready.Reason, ready.Message = v1alpha1.ReasonProgressing, fmt.Sprintf("%d of %d Pods run the present spec", now.UpdatedReplicas, want)
	case now.Replicas > now.UpdatedReplicas:
		ready.Reason, ready.Message = v1alpha1.ReasonProgressing, fmt.Sprintf("%d Pods of an earlier spec are still there", now.Replicas-now.UpdatedReplicas)
	case now.AvailableReplicas < want:
		ready.Reason, ready.Message = v1alpha1.ReasonPodsNotReady, fmt.Sprintf("%d of %d Pods are ready", now.AvailableReplicas, want)
	case want == 0:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, v1alpha1.ReasonScaledToZero, "no Pod is wanted and none runs"
	default:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, v1alpha1.ReasonAvailable, fmt.Sprintf("all %d Pods are ready", want)
	}
	return ready, progressing
}

// beingDeleted says what a Deployment that is being deleted waits for: the next one of its name cannot be made before it is gone.
func beingDeleted(deployment *appsv1.Deployment) string {
	if len(deployment.Finalizers) == 0 {
		return "the Deployment is being deleted; it is made anew when it is gone"
	}
	return fmt.Sprintf("the Deployment is being deleted and held by the finalizers %s; it is made anew when whoever set them removes them",
		strings.Join(deployment.Finalizers, ", "))
}

// rollout mirrors the Deployment's condition Progressing.
func rollout(deployment *appsv1.Deployment) metav1.Condition {
	progressing := metav1.Condition{Type: v1alpha1.FooProgressing, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonProgressing, Message: "the rollout has begun"}
	mirrored := deploymentCondition(deployment, appsv1.DeploymentProgressing)
	if mirrored == nil || deployment.Status.ObservedGeneration < deployment.Generation {
		return progressing
	}
	progressing.Status, progressing.Message = metav1.ConditionStatus(mirrored.Status), mirrored.Message
	switch {
	case mirrored.Reason == "NewReplicaSetAvailable": // the Deployment controller's word for done
		progressing.Reason = v1alpha1.ReasonRolloutComplete
	case mirrored.Status != corev1.ConditionTrue:
		progressing.Reason = mirrored.Reason
	}
	return progressing
}

func deploymentCondition(deployment *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range deployment.Status.Conditions {
		if deployment.Status.Conditions[i].Type == kind {
			return &deployment.Status.Conditions[i]
		}
	}
	return nil
}
