// Package service is the provider of type Service: a Service in the tenant's namespace, of the type that the BarClass says.
package service
