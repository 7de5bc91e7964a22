package claim

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	orphans = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "controlee_orphans",
		Help: "Number of objects that the last sweep found left behind and did not remove, by kind.",
	}, []string{"kind"})
	orphansRemoved = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "controlee_orphans_removed_total",
		Help: "Number of objects that sweeps removed because they were left behind, by kind. A Bar is counted when it is released.",
	}, []string{"kind"})
)

func init() { //nolint:gochecknoinits // how metrics are registered
	metrics.Registry.MustRegister(orphans, orphansRemoved)
}
