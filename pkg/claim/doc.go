// Package claim is the controller of claims: it makes a Bar, in the system namespace, of each Deployment or Service of a tenant
// that opts in, and tells the source what becomes of it. Its sweep finds what is left behind of events that nobody saw.
//
//	Reads:    Deployments and Services of tenant namespaces; Bars and Tenants in the system namespace; BarClasses
//	Writes:   the spec of Bars; on sources two annotations, status.loadBalancer of Services that name a class, and Events
//	Role:     controlee-operator-tenant in tenant namespaces, controlee-operator-system for Bars and Tenants, controlee-operator for BarClasses
//	Cleans up: releases the Bars that no source asks for; the Bar controller then removes what was made and deletes the Bar
package claim
