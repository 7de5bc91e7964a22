package foo

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// report writes the status, if it differs, and announces the conditions that changed.
func (r *Reconciler) report(ctx context.Context, foo *v1alpha1.Foo, live *children, refusal *refusal) error {
	exposed, err := r.exposed(ctx, foo)
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

// desireStatus says what a Foo's status is, given its Deployment, the condition Exposed (nil without a load balancer), and
// what the API server refused, if anything.
func desireStatus(foo *v1alpha1.Foo, deployment *appsv1.Deployment, exposed *metav1.Condition, refusal *refusal) v1alpha1.FooStatus {
	status := *foo.Status.DeepCopy()
	status.ObservedGeneration = foo.Generation
	status.Selector = k8slabels.SelectorFromSet(selector(foo)).String()
	status.Replicas, status.UpdatedReplicas, status.ReadyReplicas = 0, 0, 0
	if metav1.IsControlledBy(deployment, foo) {
		status.Replicas = deployment.Status.Replicas
		status.UpdatedReplicas = deployment.Status.UpdatedReplicas
		status.ReadyReplicas = deployment.Status.ReadyReplicas
	}

	ready, progressing := conditions(deployment, refusal)
	for _, condition := range []metav1.Condition{ready, progressing} {
		condition.ObservedGeneration = foo.Generation
		condition.Message = shorten(condition.Message, maxConditionMessage)
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	if exposed == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.FooExposed)
		status.Address = ""
	} else {
		exposed.ObservedGeneration = foo.Generation
		meta.SetStatusCondition(&status.Conditions, *exposed)
	}
	return status
}

// conditions gives Ready and Progressing. They follow the rules of `kubectl rollout status`: what the Deployment says counts
// only once its controller has seen the present spec.
func conditions(deployment *appsv1.Deployment, refusal *refusal) (ready, progressing metav1.Condition) {
	ready = metav1.Condition{Type: v1alpha1.FooReady, Status: metav1.ConditionFalse}
	progressing = metav1.Condition{Type: v1alpha1.FooProgressing, Status: metav1.ConditionFalse}
	if refusal != nil {
		ready.Reason, ready.Message = refusal.reason, refusal.message
		progressing.Reason, progressing.Message = refusal.reason, refusal.message
		return ready, progressing
	}
	progressing = rollout(deployment)
	want, now := ptr.Deref(deployment.Spec.Replicas, 1), deployment.Status
	failure := deploymentCondition(deployment, appsv1.DeploymentReplicaFailure)
	switch {
	case now.ObservedGeneration < deployment.Generation:
		ready.Reason, ready.Message = v1alpha1.ReasonProgressing, "the Deployment's controller has not seen the present spec yet"
	case failure != nil && failure.Status == corev1.ConditionTrue:
		ready.Reason, ready.Message = v1alpha1.ReasonReplicaFailure, failure.Message
	case progressing.Status == metav1.ConditionFalse:
		ready.Reason, ready.Message = progressing.Reason, progressing.Message
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
