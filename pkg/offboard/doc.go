// Package offboard says in the status of a Tenant that is leaving whether all that the operator made for load balancers is gone.
// The release itself is that of package claim.
//
//	Reads:    Tenants, Bars; in the namespaces of leaving Tenants sources, Foos and the kinds that Bars are made into; by name, those
//	          Namespaces that are not served; which kinds the cluster has
//	Writes:   the condition Released in the status of Tenants
//	Role:     controlee-operator-system for Tenants and Bars, controlee-operator for Namespaces, controlee-operator-tenant for the rest
//	Cleans up: nothing to clean up
package offboard
