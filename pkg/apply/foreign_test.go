package apply

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestMustControl(t *testing.T) {
	owner := metav1.OwnerReference{APIVersion: "controlee.dev/v1alpha1", Kind: "Foo", Name: "web", UID: "uid", Controller: ptr.To(true)}
	of := func(change func(*metav1.OwnerReference)) []metav1.OwnerReference {
		other := owner
		change(&other)
		return []metav1.OwnerReference{other}
	}
	predecessor := of(func(o *metav1.OwnerReference) { o.UID = "uid-old" })
	going := func(finalizers ...string) metav1.ObjectMeta {
		return metav1.ObjectMeta{DeletionTimestamp: ptr.To(metav1.Now()), Finalizers: finalizers}
	}
	cases := map[string]struct {
		reason string
		meta   metav1.ObjectMeta
		owners []metav1.OwnerReference
		want   []string // parts of the error; none: no error
	}{
		"Own":     {reason: "The owner's object is the owner's.", owners: []metav1.OwnerReference{owner}},
		"Nobody":  {reason: "Whose it is not known, so it stays.", want: []string{`Deployment "web" exists and does not belong to this object`, "delete it or choose another name"}},
		"Another": {reason: "Somebody else's stays.", owners: of(func(o *metav1.OwnerReference) { o.Name, o.UID = "x", "uid-x" }), want: []string{`exists and belongs to Foo "x"`, "delete it"}},
		"Predecessor": {
			reason: "Kubernetes collects it.", owners: predecessor,
			want: []string{"still belongs to a deleted object of the same name; waiting until it is garbage-collected"},
		},
		"HeldPredecessor": {
			reason: "Kubernetes cannot collect what somebody holds.", meta: going("example.com/a", "example.com/b"), owners: predecessor,
			want: []string{"still belongs to a deleted object of the same name and is being deleted", "held by the finalizers example.com/a, example.com/b"},
		},
		"Held":       {reason: "To delete it again does not help.", meta: going("example.com/a"), want: []string{"does not belong to this object and is being deleted", "held by the finalizers example.com/a"}},
		"Finalizers": {reason: "Finalizers of an object that stays hold nothing.", meta: metav1.ObjectMeta{Finalizers: []string{"example.com/a"}}, want: []string{"delete it or choose another name"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			live := &appsv1.Deployment{ObjectMeta: tc.meta}
			live.Name, live.OwnerReferences = "web", tc.owners
			err := mustControl(owner, live, "Deployment")
			if (err == nil) != (len(tc.want) == 0) {
				t.Fatalf("%s\ngot %v", tc.reason, err)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s\ngot %q, want %q in it", tc.reason, err, part)
				}
			}
		})
	}
}
