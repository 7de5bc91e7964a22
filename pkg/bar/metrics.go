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

var barsMetric = prometheus.NewDesc("controlee_bars", "Number of Bars by phase and BarClass.", []string{"phase", "class"}, nil)

// Describe tells which metrics there are.
func (c *collector) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- barsMetric }

// Collect counts the Bars of the cache.
func (c *collector) Collect(values chan<- prometheus.Metric) {
	type key struct {
		phase v1alpha1.BarPhase
		class string
	}
	counts := map[key]float64{}
	bars := c.bars.list(context.Background())
	for i := range bars {
		counts[key{bars[i].Status.Phase, bars[i].Spec.ClassName}]++
	}
	for of, count := range counts {
		values <- prometheus.MustNewConstMetric(barsMetric, prometheus.GaugeValue, count, string(of.phase), of.class)
	}
}
