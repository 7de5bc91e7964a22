// Package tenancy decides which namespaces the operator serves, and keeps a cache for each, started and stopped while
// the operator runs.
//
//	Reads:    Tenants in the system namespace; in each tenant namespace what the controllers cache, and the operator's own RoleBinding
//	Writes:   the status of Tenants
//	Role:     controlee-operator-system for Tenants; controlee-operator-tenant, bound in each tenant namespace, for the rest
//	Cleans up: nothing to clean up; Tenants belong to the platform admin
package tenancy
