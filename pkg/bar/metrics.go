package bar

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
)

// collector counts the Bars when it is asked.
type collector struct {
	bars *finder
}

var lostMetric = prometheus.NewDesc("controlee_bars_namespace_lost",
	"Number of Bars, by tenant, whose namespace the operator cannot see: they are kept as they are.", []string{"tenant"}, nil)

var barsMetric = prometheus.NewDesc("controlee_bars", "Number of Bars by phase and BarClass.", []string{"phase", "class"}, nil)

// Describe tells which metrics there are.
func (c *collector) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- barsMetric
	descriptions <- lostMetric
}

// Collect counts the Bars of the cache.
func (c *collector) Collect(values chan<- prometheus.Metric) {
	type key struct {
		phase v1alpha1.BarPhase
		class string
	}
	counts, lost := map[key]float64{}, map[string]float64{}
	bars := c.bars.list(context.Background())
	for i := range bars {
		counts[key{bars[i].Status.Phase, bars[i].Spec.ClassName}]++
		if bars[i].IsNamespaceLost() {
			lost[bars[i].Spec.Tenant]++
		}
	}
	for tenant, count := range lost {
		values <- prometheus.MustNewConstMetric(lostMetric, prometheus.GaugeValue, count, tenant)
	}
	for of, count := range counts {
		values <- prometheus.MustNewConstMetric(barsMetric, prometheus.GaugeValue, count, string(of.phase), of.class)
	}
}
