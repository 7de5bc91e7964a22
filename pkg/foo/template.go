package foo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// podTemplate makes the Pods' template: one container, as the Pod Security level `restricted` demands.
func podTemplate(foo *v1alpha1.Foo, settings Settings) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	main, err := container(foo)
	if err != nil {
		return nil, err
	}
	pod := corev1ac.PodSpec().
		WithContainers(main).
		// A program that needs an API token asks for one with a projected volume.
		WithAutomountServiceAccountToken(false).
		// The namespace's Services have no place in the environment: they could hide a variable that the program expects.
		WithEnableServiceLinks(false).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithTopologySpreadConstraints(corev1ac.TopologySpreadConstraint().
			WithMaxSkew(1).
			WithTopologyKey(corev1.LabelHostname).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway). // a small cluster must be able to run it too
			WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(selector(foo))).
			WithMatchLabelKeys("pod-template-hash")). // count the Pods of one version, or a rollout ends up lopsided
		WithTolerations(
			nodeLossToleration(corev1.TaintNodeNotReady, settings),
			nodeLossToleration(corev1.TaintNodeUnreachable, settings))
	if foo.Spec.ServiceAccountName != "" {
		// The deprecated twin as well: the API server fills it in, and once serviceAccountName is
		// gone takes the account from there.
		pod.WithServiceAccountName(foo.Spec.ServiceAccountName).WithDeprecatedServiceAccount(foo.Spec.ServiceAccountName)
	}
	volumes, volumesErr := as[[]corev1ac.VolumeApplyConfiguration](foo.Spec.Volumes)
	secrets, secretsErr := as[[]corev1ac.LocalObjectReferenceApplyConfiguration](foo.Spec.ImagePullSecrets)
	pod.Volumes, pod.ImagePullSecrets = volumes, secrets
	writeDefaults(pod)
	return corev1ac.PodTemplateSpec().WithLabels(labels(foo)).WithSpec(pod), errors.Join(volumesErr, secretsErr)
}

func container(foo *v1alpha1.Foo) (*corev1ac.ContainerApplyConfiguration, error) {
	spec := &foo.Spec
	result := corev1ac.Container().
		WithName(v1alpha1.MainContainer).
		WithImage(spec.Image).
		WithImagePullPolicy(cmp.Or(spec.ImagePullPolicy, pullPolicy(spec.Image))).
		WithCommand(spec.Command...).
		WithArgs(spec.Args...).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))
	if len(spec.Resources.Requests)+len(spec.Resources.Limits) > 0 {
		result.WithResources(corev1ac.ResourceRequirements())
		if len(spec.Resources.Requests) > 0 {
			result.Resources.WithRequests(roundedUp(spec.Resources.Requests))
		}
		if len(spec.Resources.Limits) > 0 {
			result.Resources.WithLimits(roundedUp(spec.Resources.Limits))
		}
	}

	// Where the Foo's type is a part of Kubernetes' own, field for field, the JSON form carries it over.
	var envErr, fromErr, portsErr, mountsErr, readyErr, liveErr, startErr error
	result.Env, envErr = as[[]corev1ac.EnvVarApplyConfiguration](spec.Env)
	result.EnvFrom, fromErr = as[[]corev1ac.EnvFromSourceApplyConfiguration](spec.EnvFrom)
	result.Ports, portsErr = as[[]corev1ac.ContainerPortApplyConfiguration](spec.Ports)
	result.VolumeMounts, mountsErr = as[[]corev1ac.VolumeMountApplyConfiguration](spec.VolumeMounts)
	if probes := spec.Probes; probes != nil {
		result.ReadinessProbe, readyErr = as[*corev1ac.ProbeApplyConfiguration](probes.Readiness)
		result.LivenessProbe, liveErr = as[*corev1ac.ProbeApplyConfiguration](probes.Liveness)
		result.StartupProbe, startErr = as[*corev1ac.ProbeApplyConfiguration](probes.Startup)
	}
	return result, errors.Join(envErr, fromErr, portsErr, mountsErr, readyErr, liveErr, startErr)
}

func nodeLossToleration(taint string, settings Settings) *corev1ac.TolerationApplyConfiguration {
	return corev1ac.Toleration().
		WithKey(taint).
		WithOperator(corev1.TolerationOpExists).
		WithEffect(corev1.TaintEffectNoExecute).
		WithTolerationSeconds(seconds(settings.NodeLossToleration))
}

// as converts between two types of the same JSON form.
func as[To, From any](from From) (to To, err error) {
	data, err := json.Marshal(from)
	if err != nil {
		return to, fmt.Errorf("%T: %w", from, err)
	}
	if err := json.Unmarshal(data, &to); err != nil {
		return to, fmt.Errorf("%T as %T: %w", from, to, err)
	}
	return to, nil
}
