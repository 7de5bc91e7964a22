// Package leader decides which replica may write, and makes sure that no other one does.
//
// A replica leads while it holds the Lease; it may write while the Fence names its Pod. client-go's election loop, driven by
// controller-runtime's manager, decides when to renew; the [Lock] of this package is what it acts on. A standby is told of the
// Lease's changes by one watch, and asks for the Lease only when it looks free. Whoever wins the Lease claims the Fence with a higher
// epoch, and proves with a write that the claim is in force, before the election loop hears that it leads. A leader that sees
// another holder, or none, ends its process at once.
//
//	Reads:    the Lease and the Fence of the system namespace
//	Writes:   the same, and Events that say why a leader came or went
//	Role:     controlee-operator-system
//	Cleans up: nothing; the chart makes and removes both objects
package leader

// The chart makes the Lease and the Fence. Should somebody delete the Lease, an update that names it makes it again: that takes the
// right to create an object of this name, and of no other.
//
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=coordination.k8s.io,resources=leases,resourceNames=controlee,verbs=get;list;watch;create;update
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=fences,resourceNames=controlee,verbs=get;update
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=controlee.dev,resources=fences/status,resourceNames=controlee,verbs=patch
// +kubebuilder:rbac:roleName=controlee-operator-system,groups=events.k8s.io,resources=events,verbs=create
