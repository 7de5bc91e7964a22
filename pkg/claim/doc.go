// Package claim is the controller of claims: it makes a Bar, in the system namespace, of each Deployment or Service of a tenant
// that opts in, and tells the source what becomes of it. Its sweep finds what is left behind of events that nobody saw.
//
//	Reads:    Deployments and Services of tenant namespaces, and for the sweep routes; Bars and Tenants in the system namespace; BarClasses; a
//	          Namespace by name, to see whether it is gone
//	Writes:   the spec of Bars and the condition ReleasePending in their status; on sources two annotations, status.loadBalancer of Services
//	          that name a class, and Events; the sweep deletes what was made for a Bar and has none
//	Role:     controlee-operator-tenant in tenant namespaces, controlee-operator-system for Bars and Tenants, controlee-operator for BarClasses
//	          and Namespaces
//	Cleans up: releases the Bars that no source asks for; the Bar controller then removes what was made and deletes the Bar
package claim
