package tenancy

import (
	"github.com/prometheus/client_golang/prometheus"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// states are the values of the label of the metric, all of which are always there.
var states = []v1alpha1.NamespaceState{v1alpha1.NamespaceEngaged, v1alpha1.NamespacePending, v1alpha1.NamespaceRefused}

var namespacesMetric = prometheus.NewDesc("controlee_namespaces",
	"Number of namespaces that Tenants name, by how far this replica serves them: Engaged, Pending (its cache is being filled) or Refused.",
	[]string{"state"}, nil)

// collector counts, when it is asked, the namespaces that Tenants name.
type collector struct{ registry *Registry }

// Describe is part of prometheus.Collector.
func (c *collector) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- namespacesMetric }

// Collect is part of prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	for state, n := range c.registry.countStates() {
		metrics <- prometheus.MustNewConstMetric(namespacesMetric, prometheus.GaugeValue, float64(n), string(state))
	}
}

// countStates counts the namespaces by state. One that is contested, or the system namespace, is
// Refused to the Tenant that does not get it.
func (r *Registry) countStates() map[v1alpha1.NamespaceState]int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	counts := make(map[v1alpha1.NamespaceState]int, len(states))
	for _, state := range states {
		counts[state] = 0
	}
	for _, e := range r.engagements {
		counts[e.state.State]++
	}
	counts[v1alpha1.NamespaceRefused] += r.contested
	return counts
}
