package leader

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	metricLeader = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "controlee_leader",
		Help: "1 while this replica leads and the Fence lets it write, else 0.",
	})
	metricEpoch = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "controlee_fence_epoch",
		Help: "Epoch of the last claim of the Fence by this replica that came into force, 0 if there was none.",
	})
	metricRenewed = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "controlee_lease_last_renewal_timestamp_seconds",
		Help: "When this replica last renewed the Lease, in seconds since 1970, 0 if it never did.",
	})
	metricHandover = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "controlee_handover_duration_seconds",
		Help:    "Time from taking the Lease until the Fence lets this replica write.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	})
	metricRefused = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "controlee_fence_refusals_total",
		Help: "Writes of this replica that the fence refused, since another Pod holds it.",
	})
)

func init() { //nolint:gochecknoinits // controller-runtime's registry is a global, too
	metrics.Registry.MustRegister(metricLeader, metricEpoch, metricRenewed, metricHandover, metricRefused)
}
