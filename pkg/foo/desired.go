package foo

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// Settings are the platform's choices for all Foos.
type Settings struct {
	// NodeLossToleration is how long a Pod stays bound to a node that is not ready or not reachable. Kubernetes' own default
	// is five minutes. Whole seconds.
	NodeLossToleration time.Duration
}

// desired holds the objects that a Foo wants. Nil ones are not wanted.
type desired struct {
	deployment *appsv1ac.DeploymentApplyConfiguration
	autoscaler *autoscalingv2ac.HorizontalPodAutoscalerApplyConfiguration
	budget     *policyv1ac.PodDisruptionBudgetApplyConfiguration
}

// desire computes what a Foo wants. It depends on nothing but its arguments.
func desire(foo *v1alpha1.Foo, settings Settings) (desired, error) {
	template, err := podTemplate(foo, settings)
	if err != nil {
		return desired{}, err
	}
	return desired{
		deployment: deployment(foo, template),
		autoscaler: autoscaler(foo),
		budget:     budget(foo),
	}, nil
}

func deployment(foo *v1alpha1.Foo, template *corev1ac.PodTemplateSpecApplyConfiguration) *appsv1ac.DeploymentApplyConfiguration {
	spec := appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(foo))).
		WithTemplate(template)
	if foo.Spec.ProgressDeadlineSeconds != nil {
		spec.WithProgressDeadlineSeconds(*foo.Spec.ProgressDeadlineSeconds)
	}
	if foo.Spec.Autoscaling == nil {
		spec.WithReplicas(replicas(foo))
	}
	result := appsv1ac.Deployment(foo.Name, foo.Namespace).WithLabels(labels(foo)).WithSpec(spec)
	if annotations := request(foo.Spec.Bar); annotations != nil {
		result.WithAnnotations(annotations)
	}
	return result
}

// request returns the annotations that ask for a load balancer, nil for none. The Deployment opts
// in like any other: there is one path to a load balancer.
func request(bar *v1alpha1.FooBar) map[string]string {
	if bar == nil {
		return nil
	}
	annotations := map[string]string{v1alpha1.BarClassAnnotation: bar.ClassName}
	if bar.Port != nil {
		annotations[v1alpha1.BarPortAnnotation] = bar.Port.String()
	}
	return annotations
}

func autoscaler(foo *v1alpha1.Foo) *autoscalingv2ac.HorizontalPodAutoscalerApplyConfiguration {
	scaling := foo.Spec.Autoscaling
	if scaling == nil {
		return nil
	}
	cpu := autoscalingv2ac.MetricSpec().
		WithType("Resource").
		WithResource(autoscalingv2ac.ResourceMetricSource().
			WithName(corev1.ResourceCPU).
			WithTarget(autoscalingv2ac.MetricTarget().
				WithType("Utilization").
				WithAverageUtilization(ptr.Deref(scaling.TargetCPUUtilizationPercentage, 80))))
	return autoscalingv2ac.HorizontalPodAutoscaler(foo.Name, foo.Namespace).
		WithLabels(labels(foo)).
		WithSpec(autoscalingv2ac.HorizontalPodAutoscalerSpec().
			WithScaleTargetRef(autoscalingv2ac.CrossVersionObjectReference().
				WithAPIVersion("apps/v1").WithKind("Deployment").WithName(foo.Name)).
			WithMinReplicas(ptr.Deref(scaling.MinReplicas, 1)).
			WithMaxReplicas(scaling.MaxReplicas).
			WithMetrics(cpu))
}

// budget lets one Pod at a time be evicted, where the Foo can run two or more: a budget over a single Pod would either
// allow nothing and block the drain of its node, or allow everything.
func budget(foo *v1alpha1.Foo) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	most := replicas(foo)
	if foo.Spec.Autoscaling != nil {
		most = foo.Spec.Autoscaling.MaxReplicas
	}
	if most < 2 {
		return nil
	}
	return policyv1ac.PodDisruptionBudget(foo.Name, foo.Namespace).
		WithLabels(labels(foo)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(foo))).
			WithMaxUnavailable(intstr.FromInt32(1)).
			// A Pod that never became ready serves nobody; it must not hold up a drain.
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}

// replicas is the number of Pods that the spec asks for. The API server's default is the same.
func replicas(foo *v1alpha1.Foo) int32 { return ptr.Deref(foo.Spec.Replicas, 1) }

// selector is the one label that the Deployment selects its Pods by. It must never change: a selector is immutable.
func selector(foo *v1alpha1.Foo) map[string]string {
	return map[string]string{v1alpha1.FooLabel: foo.Name}
}

func labels(foo *v1alpha1.Foo) map[string]string {
	return map[string]string{
		v1alpha1.FooLabel:       foo.Name,
		v1alpha1.NameLabel:      foo.Name,
		v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue,
	}
}

// seconds rounds a duration up to what Kubernetes' fields in seconds can hold.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
