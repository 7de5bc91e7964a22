package claim

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/tenancy"
)

func TestFateOf(t *testing.T) {
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	tenant := func(reason string, since time.Duration) v1alpha1.Tenant {
		return v1alpha1.Tenant{
			ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec:       v1alpha1.TenantSpec{Namespaces: []string{"team-a"}},
			Status: v1alpha1.TenantStatus{Namespaces: []v1alpha1.TenantNamespaceStatus{
				{Name: "team-a", Reason: reason, Since: metav1.NewTime(now.Add(-since))},
			}},
		}
	}
	cases := map[string]struct {
		reason    string
		tenants   []v1alpha1.Tenant
		state     string // the reason of this process's own state
		abandoned bool
		again     time.Duration
	}{
		"NoTenants":  {reason: "A namespace that no Tenant names is nobody's.", abandoned: true},
		"LostLong":   {reason: "After the time of grace it is given up.", tenants: []v1alpha1.Tenant{tenant(v1alpha1.ReasonAccessDenied, time.Minute)}, state: v1alpha1.ReasonAccessDenied, abandoned: true},
		"LostNow":    {reason: "A RoleBinding that is made again is no reason.", tenants: []v1alpha1.Tenant{tenant(v1alpha1.ReasonAccessDenied, 10*time.Second)}, state: v1alpha1.ReasonAccessDenied, again: 20 * time.Second},
		"Filling":    {reason: "An old status says nothing while this process has not found out itself.", tenants: []v1alpha1.Tenant{tenant(v1alpha1.ReasonAccessDenied, time.Hour)}, state: v1alpha1.ReasonCacheNotSynced},
		"NotWritten": {reason: "Since when is not known yet.", tenants: []v1alpha1.Tenant{tenant(v1alpha1.ReasonEngaged, time.Hour)}, state: v1alpha1.ReasonAccessDenied},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			states := func(string) map[string]tenancy.State { return map[string]tenancy.State{"team-a": {Reason: tc.state}} }
			abandoned, again := fateOf("team-a", tc.tenants, "controlee-system", states, now)
			if abandoned != tc.abandoned || again != tc.again {
				t.Errorf("%s\ngot %v, %s", tc.reason, abandoned, again)
			}
		})
	}
}
