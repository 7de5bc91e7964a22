package tenancy

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestIsGone(t *testing.T) {
	made := metav1.NewTime(time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC))
	namespace := func(created time.Duration) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a", CreationTimestamp: metav1.NewTime(made.Add(created))}}
	}
	terminating := namespace(-time.Hour)
	terminating.DeletionTimestamp, terminating.Finalizers = &made, []string{"example.com/hold"}
	cases := map[string]struct {
		reason    string
		namespace *corev1.Namespace
		want      bool
	}{
		"NotFound":    {reason: "A namespace that does not exist holds nothing.", want: true},
		"Older":       {reason: "The namespace was there first.", namespace: namespace(-time.Hour)},
		"Younger":     {reason: "The namespace was deleted and created again.", namespace: namespace(time.Hour), want: true},
		"ClockSkew":   {reason: "The clock of one API server may be ahead of another one's.", namespace: namespace(30 * time.Second)},
		"Terminating": {reason: "Objects of a namespace that is being deleted can still serve.", namespace: terminating},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if tc.namespace != nil {
				objects = append(objects, tc.namespace)
			}
			live := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).Build()
			got, err := IsGone(t.Context(), live, "team-a", made)
			if err != nil || got != tc.want {
				t.Errorf("%s\ngot %v, %v", tc.reason, got, err)
			}
		})
	}
}
