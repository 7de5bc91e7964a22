package foo

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// writeDefaults writes out what the API server would default where Kubernetes takes a structure for a whole
// (an atomic one in the words of server-side apply): who applied it owns the defaults in it too, so without them the
// owned fields would never equal the wanted ones, and each reconcile would write.
func writeDefaults(pod *corev1ac.PodSpecApplyConfiguration) {
	for i := range pod.Containers {
		container := &pod.Containers[i]
		for j := range container.Env {
			if from := container.Env[j].ValueFrom; from != nil {
				writeFieldDefaults(from.FieldRef, from.ResourceFieldRef)
			}
		}
	}
	for i := range pod.Volumes {
		if projected := pod.Volumes[i].Projected; projected != nil {
			for j := range projected.Sources {
				writeProjectionDefaults(&projected.Sources[j])
			}
		}
	}
}

func writeProjectionDefaults(source *corev1ac.VolumeProjectionApplyConfiguration) {
	if token := source.ServiceAccountToken; token != nil && token.ExpirationSeconds == nil {
		token.WithExpirationSeconds(60 * 60)
	}
	if source.DownwardAPI == nil {
		return
	}
	for i := range source.DownwardAPI.Items {
		item := &source.DownwardAPI.Items[i]
		writeFieldDefaults(item.FieldRef, item.ResourceFieldRef)
		if item.ResourceFieldRef != nil {
			// A volume belongs to no container, so it has to say whose resources it means.
			item.ResourceFieldRef.WithContainerName(v1alpha1.MainContainer)
		}
	}
}

func writeFieldDefaults(field *corev1ac.ObjectFieldSelectorApplyConfiguration, amount *corev1ac.ResourceFieldSelectorApplyConfiguration) {
	if field != nil {
		field.WithAPIVersion("v1")
	}
	if amount != nil && amount.Divisor == nil {
		amount.WithDivisor(resource.MustParse("0")) // stands for 1
	}
}

// pullPolicy returns the pull policy of an image where the Foo sets none. It is Kubernetes' own
// default, which is written out because the API server computes the default once and keeps it when
// the image changes. As there, no tag and no digest stand for the tag latest.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, hasDigest := strings.Cut(image, "@")
	name = name[strings.LastIndex(name, "/")+1:] // a registry may have a port
	_, tag, hasTag := strings.Cut(name, ":")
	if tag == "latest" || !hasTag && !hasDigest {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// roundedUp rounds to thousandths, the finest that the API server keeps.
func roundedUp(amounts corev1.ResourceList) corev1.ResourceList {
	rounded := make(corev1.ResourceList, len(amounts))
	for name, amount := range amounts {
		amount.RoundUp(resource.Milli)
		rounded[name] = amount
	}
	return rounded
}
