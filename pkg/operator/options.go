// Package operator wires the controllers, the tenant namespaces and leader election into one manager.
package operator

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/controlee/controlee/pkg/leader"
)

// Options are what the command line can set.
type Options struct {
	// Log says how to log.
	Log LogOptions

	// SystemNamespace is the operator's own namespace: Tenants and the Lease are there.
	SystemNamespace string
	// PodName and PodUID are the operator's identity in leader election.
	PodName, PodUID string

	// LeaderElection holds the periods of leader election.
	LeaderElection leader.Timings

	// MetricsBindAddress is where metrics are served; "0" turns them off.
	MetricsBindAddress string
	// MetricsAuth serves metrics over HTTPS, to clients that the API server knows and that may `get` the path /metrics.
	MetricsAuth bool
	// HealthProbeBindAddress is where /healthz and /readyz are served; "0" turns them off.
	HealthProbeBindAddress string

	// FooWorkers is the number of Foos that are reconciled at the same time.
	FooWorkers int
	// NodeLossToleration is how long a Foo's Pods stay bound to a lost node. Whole seconds.
	NodeLossToleration time.Duration

	// BarWorkers is the number of Bars that are reconciled at the same time.
	BarWorkers int
	// ClaimWorkers is the number of Deployments, and of Services, that are handled at the same time.
	ClaimWorkers int
	// OrphanSweepInterval is the time between two sweeps for Bars without a source and objects without a Bar.
	OrphanSweepInterval time.Duration
	// OrphanSweepDryRun has the sweeps only report what they find.
	OrphanSweepDryRun bool
}

// NewOptions gives the defaults, with the identity from the environment that the chart's Deployment sets.
func NewOptions() *Options {
	return &Options{
		Log:                    LogOptions{Level: "info", Format: "json"},
		SystemNamespace:        os.Getenv("POD_NAMESPACE"),
		PodName:                os.Getenv("POD_NAME"),
		PodUID:                 os.Getenv("POD_UID"),
		LeaderElection:         leader.DefaultTimings,
		MetricsBindAddress:     ":8443",
		MetricsAuth:            true,
		HealthProbeBindAddress: ":8081",
		FooWorkers:             8,
		NodeLossToleration:     30 * time.Second,
		BarWorkers:             8,
		ClaimWorkers:           8,
		OrphanSweepInterval:    10 * time.Minute,
	}
}

// AddFlags adds the flags of the options, with the present values as defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Log.Level, "log-level", o.Log.Level, "what to log: error, info, debug, or a verbosity from 0 (info) to 10")
	flags.StringVar(&o.Log.Format, "log-format", o.Log.Format, "how to log: json or console")
	flags.StringVar(&o.SystemNamespace, "system-namespace", o.SystemNamespace, "the operator's own namespace; default $POD_NAMESPACE")
	flags.StringVar(&o.PodName, "pod-name", o.PodName, "name of the operator's Pod; default $POD_NAME")
	flags.StringVar(&o.PodUID, "pod-uid", o.PodUID, "UID of the operator's Pod; default $POD_UID")
	flags.DurationVar(&o.LeaderElection.LeaseDuration, "leader-elect-lease-duration", o.LeaderElection.LeaseDuration,
		"how long a standby waits after the last renewal that it saw before it takes over; whole seconds, at least renew deadline + retry period + 1s")
	flags.DurationVar(&o.LeaderElection.RenewDeadline, "leader-elect-renew-deadline", o.LeaderElection.RenewDeadline,
		"how long a leader that cannot renew goes on before it exits; more than 1.2 x retry period")
	flags.DurationVar(&o.LeaderElection.RetryPeriod, "leader-elect-retry-period", o.LeaderElection.RetryPeriod,
		"time between two tries to renew or to take over")
	flags.StringVar(&o.MetricsBindAddress, "metrics-bind-address", o.MetricsBindAddress, "where metrics are served; 0 turns them off")
	flags.BoolVar(&o.MetricsAuth, "metrics-auth", o.MetricsAuth, "serve metrics over HTTPS, to clients that may get the path /metrics; false: plain HTTP, to all")
	flags.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", o.HealthProbeBindAddress, "where /healthz and /readyz are served; 0 turns them off")
	flags.IntVar(&o.FooWorkers, "foo-workers", o.FooWorkers, "number of Foos that are reconciled at the same time")
	flags.DurationVar(&o.NodeLossToleration, "node-loss-toleration", o.NodeLossToleration,
		"how long a Foo's Pods stay bound to a node that is not ready or not reachable; whole seconds")
	flags.IntVar(&o.BarWorkers, "bar-workers", o.BarWorkers, "number of Bars that are reconciled at the same time")
	flags.IntVar(&o.ClaimWorkers, "claim-workers", o.ClaimWorkers,
		"number of Deployments, and of Services, that may ask for a load balancer and are handled at the same time")
	flags.DurationVar(&o.OrphanSweepInterval, "orphan-sweep-interval", o.OrphanSweepInterval,
		"time between two sweeps for Bars without a source and objects without a Bar; at least 1s")
	flags.BoolVar(&o.OrphanSweepDryRun, "orphan-sweep-dry-run", o.OrphanSweepDryRun, "only report, in the log and in metrics, what the sweeps find")
}

// Validate checks all options and reports every fault at once. Each error names the flag and a valid value.
func (o *Options) Validate() error {
	var errs []error
	if err := o.Log.validate(); err != nil {
		errs = append(errs, err)
	}
	if msgs := validation.IsDNS1123Label(o.SystemNamespace); len(msgs) > 0 {
		errs = append(errs, fmt.Errorf("--system-namespace %q (or POD_NAMESPACE) must name the operator's own namespace, for example controlee-system: %s", o.SystemNamespace, msgs[0]))
	}
	if o.PodName == "" || o.PodUID == "" {
		errs = append(errs, errors.New("--pod-name and --pod-uid (or POD_NAME and POD_UID) must be set: they are the identity in leader election"))
	}
	if err := o.LeaderElection.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("--leader-elect-*: %w", err))
	}
	if o.FooWorkers < 1 {
		errs = append(errs, fmt.Errorf("--foo-workers %d must be at least 1, for example 8", o.FooWorkers))
	}
	if o.NodeLossToleration < 0 || o.NodeLossToleration%time.Second != 0 {
		errs = append(errs, fmt.Errorf("--node-loss-toleration %s must be whole seconds and not negative, for example 30s", o.NodeLossToleration))
	}
	if o.BarWorkers < 1 {
		errs = append(errs, fmt.Errorf("--bar-workers %d must be at least 1, for example 8", o.BarWorkers))
	}
	if o.ClaimWorkers < 1 {
		errs = append(errs, fmt.Errorf("--claim-workers %d must be at least 1, for example 8", o.ClaimWorkers))
	}
	if o.OrphanSweepInterval < time.Second {
		errs = append(errs, fmt.Errorf("--orphan-sweep-interval %s must be at least 1s, for example 10m", o.OrphanSweepInterval))
	}
	return errors.Join(errs...)
}

// metricsEnabled says whether metrics are served.
func (o *Options) metricsEnabled() bool {
	return o.MetricsBindAddress != "0" && o.MetricsBindAddress != ""
}
