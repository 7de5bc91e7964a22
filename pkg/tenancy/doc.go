// Package tenancy decides which namespaces the operator serves, and keeps a cache for each, started and stopped while
// the operator runs.
//
//	Reads:    Tenants in the system namespace; in each tenant namespace what the controllers cache, and the operator's own RoleBinding; which
//	          kinds the cluster has. For other packages it reads a Namespace by name, to see whether it is gone
//	Writes:   the status of Tenants; access reviews of the operator itself
//	Role:     controlee-operator-system for Tenants; controlee-operator for Namespaces; controlee-operator-tenant, bound in each tenant
//	          namespace, for what is there; which kinds there are, and what it may do, every account may ask
//	Cleans up: nothing to clean up; Tenants belong to the platform admin
package tenancy
