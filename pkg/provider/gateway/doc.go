// Package gateway is the provider of type Gateway: a route of the Gateway API in the tenant's namespace, attached to the Gateway that the
// BarClass names. It never reads that Gateway: what the Gateway's controller thinks of a route stands in the route's status.
package gateway
