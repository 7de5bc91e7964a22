package tenancy

import "k8s.io/apimachinery/pkg/runtime/schema"

// Present are the late kinds that the cluster has.
func (l *LateKinds) Present() (kinds []schema.GroupVersionKind) {
	for kind, version := range l.present() {
		kinds = append(kinds, kind.WithVersion(version))
	}
	return kinds
}
