// Package foo is the controller of Foos: it makes of each Foo a Deployment, and where asked for or sensible a
// HorizontalPodAutoscaler and a PodDisruptionBudget, and mirrors into its status what became of them.
//
//	Reads:    Foos, Deployments, HorizontalPodAutoscalers and PodDisruptionBudgets of tenant namespaces; Bars and Tenants
//	Writes:   those Deployments, HorizontalPodAutoscalers and PodDisruptionBudgets that a Foo controls; the status of Foos; Events
//	Role:     controlee-operator-tenant, bound in each tenant namespace; controlee-operator-system for Bars and Tenants
//	Cleans up: Kubernetes' garbage collector, by owner references; the controller itself only what a changed spec no longer wants
package foo
