package foo

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The same images on a real API server: TestPullPolicyIsThatOfTheImage.
func TestPullPolicy(t *testing.T) {
	cases := map[string]struct {
		reason string
		image  string
		want   corev1.PullPolicy
	}{
		"NoTag":           {"No tag stands for latest.", "nginx", corev1.PullAlways},
		"Latest":          {"latest moves.", "nginx:latest", corev1.PullAlways},
		"Tag":             {"A version stays.", "nginx:1.27", corev1.PullIfNotPresent},
		"Digest":          {"A digest is one image for ever.", "nginx@sha256:0123", corev1.PullIfNotPresent},
		"TagAndDigest":    {"A version stays.", "nginx:1.27@sha256:0123", corev1.PullIfNotPresent},
		"LatestAndDigest": {"Kubernetes goes by the tag where there is one.", "nginx:latest@sha256:0123", corev1.PullAlways},
		"Port":            {"A registry's port is no tag.", "registry.example:5000/web", corev1.PullAlways},
		"PortAndTag":      {"Behind it there may be a tag.", "registry.example:5000/web:1", corev1.PullIfNotPresent},
		"NamedLatest":     {"The name of an image is no tag.", "shop/latest:v1", corev1.PullIfNotPresent},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := pullPolicy(tc.image); got != tc.want {
				t.Errorf("%s\n%s: got %s, want %s", tc.reason, tc.image, got, tc.want)
			}
		})
	}
}
