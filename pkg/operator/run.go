package operator

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/apply"
	"github.com/controlee/controlee/pkg/bar"
	"github.com/controlee/controlee/pkg/barclass"
	"github.com/controlee/controlee/pkg/claim"
	"github.com/controlee/controlee/pkg/foo"
	"github.com/controlee/controlee/pkg/leader"
	"github.com/controlee/controlee/pkg/offboard"
	"github.com/controlee/controlee/pkg/provider"
	"github.com/controlee/controlee/pkg/provider/gateway"
	"github.com/controlee/controlee/pkg/provider/service"
	"github.com/controlee/controlee/pkg/tenancy"
)

// Metrics that are served with authentication ask the API server about each client.
//
// +kubebuilder:rbac:roleName=controlee-operator-metrics-auth,groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:roleName=controlee-operator-metrics-auth,groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// providers are what a BarClass can name.
var providers = provider.Set{
	v1alpha1.ServiceProvider: service.Provider{},
	v1alpha1.GatewayProvider: gateway.Provider{},
}

// NewScheme knows all types that the operator reads and writes.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// Run runs the operator until ctx is done. It returns an error when it could not start or when it lost its lease: the process
// must then exit at once, since another replica may be writing.
func (o *Options) Run(ctx context.Context, restConfig *rest.Config, log logr.Logger) error {
	// No limit on the client's side: API Priority and Fairness is the server's, and fairness between tenants the queue's.
	restConfig = rest.CopyConfig(restConfig)
	restConfig.QPS = -1

	lock, err := leader.NewLock(restConfig, leader.Options{
		Namespace: o.SystemNamespace, PodName: o.PodName, PodUID: o.PodUID,
		Timings: o.LeaderElection, Log: log.WithName("leader"),
	})
	if err != nil {
		return err
	}
	lock.WatchRefusals(restConfig)
	mgr, err := o.newManager(restConfig, lock, log)
	if err != nil {
		return err
	}
	direct, err := client.New(restConfig, client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	server, err := tenancy.NewDiscovery(restConfig, mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	late := tenancy.NewLateKinds(server, providers.Kinds())
	registry := tenancy.NewRegistry(tenancy.Options{
		Config:     restConfig,
		HTTPClient: mgr.GetHTTPClient(),
		Scheme:     mgr.GetScheme(),
		Mapper:     mgr.GetRESTMapper(),
		Client:     direct,
		Kinds:      slices.Concat(foo.Kinds(), claim.Kinds(), bar.Kinds()),
		Late:       late,
		Rights:     slices.Concat(foo.Rights(), claim.Rights()),
		Transform:  apply.KeepManagedFields(foo.FieldManager, bar.FieldManager),
	})
	if err := tenancy.SetupWithManager(mgr, registry, o.SystemNamespace); err != nil {
		return fmt.Errorf("tenancy: %w", err)
	}
	settings := foo.Settings{NodeLossToleration: o.NodeLossToleration}
	if err := foo.SetupWithManager(mgr, registry, foo.Options{
		Client: direct, SystemNamespace: o.SystemNamespace, Workers: o.FooWorkers, Settings: settings,
	}); err != nil {
		return fmt.Errorf("foo controller: %w", err)
	}
	if err := claim.SetupWithManager(ctx, mgr, registry, claim.Options{
		Client: direct, SystemNamespace: o.SystemNamespace, Workers: o.ClaimWorkers,
		Sweep: claim.SweepOptions{Interval: o.OrphanSweepInterval, DryRun: o.OrphanSweepDryRun, Late: late},
	}); err != nil {
		return fmt.Errorf("claim controllers: %w", err)
	}
	if err := bar.SetupWithManager(mgr, registry, bar.Options{ //nolint:contextcheck // its index is made before anything runs
		Client: direct, Late: late, Providers: providers, SystemNamespace: o.SystemNamespace, Workers: o.BarWorkers,
	}); err != nil {
		return fmt.Errorf("bar controller: %w", err)
	}
	if err := barclass.SetupWithManager(mgr, direct, late, providers); err != nil {
		return fmt.Errorf("barclass controller: %w", err)
	}
	if err := offboard.SetupWithManager(mgr, registry, offboard.Options{
		Client: direct, Late: late, Kinds: providers.Kinds(), SystemNamespace: o.SystemNamespace,
	}); err != nil {
		return fmt.Errorf("offboard controller: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("caches", registry.Synced); err != nil {
		return err
	}
	return start(ctx, mgr, lock)
}

// start runs the manager until ctx is done or the Lease is lost. Then it does not wait for the manager: what this process
// still had in hand is no longer its to finish.
func start(ctx context.Context, mgr ctrl.Manager, lock *leader.Lock) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go lock.Run(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	var err error
	select {
	case err = <-lock.Lost():
		cancel()
	case err = <-ended:
		// controller-runtime's words for a renew deadline that passed.
		if err == nil || !strings.Contains(err.Error(), "leader election lost") {
			return err
		}
		err = fmt.Errorf("the Lease could not be renewed within the renew deadline: %w", err)
	}
	lock.Explain(context.WithoutCancel(ctx), err)
	return err
}

func (o *Options) newManager(restConfig *rest.Config, lock *leader.Lock, log logr.Logger) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: NewScheme(),
		Logger: log,
		// The manager's own cache sees the system namespace only. Each tenant namespace has a cache of its own.
		Cache: cache.Options{
			DefaultNamespaces:           map[string]cache.Config{o.SystemNamespace: {}},
			DefaultTransform:            cache.TransformStripManagedFields(),
			ReaderFailOnMissingInformer: true,
		},
		Controller: config.Controller{
			// Sources run in standbys too, so that a new leader's queue is filled when it wins.
			EnableWarmup: ptr.To(true),
			// No reconcile takes nearly as long as a minute, unless the API server hangs; then it must not hold a worker for ever.
			ReconciliationTimeout: time.Minute,
			// That queue serves what a leader finds when it begins after all that is new, whosever it is: one busy tenant would keep the
			// others waiting without end.
			UsePriorityQueue: ptr.To(false),
		},
		Metrics:                             o.metrics(),
		HealthProbeBindAddress:              o.HealthProbeBindAddress,
		LeaderElection:                      true,
		LeaderElectionID:                    leader.LeaseName,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &o.LeaderElection.LeaseDuration,
		RenewDeadline:                       &o.LeaderElection.RenewDeadline,
		RetryPeriod:                         &o.LeaderElection.RetryPeriod,
	})
	if err != nil {
		return nil, fmt.Errorf("manager: %w", err)
	}
	return mgr, nil
}

func (o *Options) metrics() metricsserver.Options {
	if !o.metricsEnabled() {
		return metricsserver.Options{BindAddress: "0"}
	}
	options := metricsserver.Options{BindAddress: o.MetricsBindAddress, SecureServing: o.MetricsAuth}
	if o.MetricsAuth {
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
		// HTTP/2 has no use here, and has had denial-of-service holes that need no authentication.
		options.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	}
	return options
}
