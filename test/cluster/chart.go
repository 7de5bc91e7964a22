package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/client-go/rest"
)

// Chart says what to install, as helm's command line would.
type Chart struct {
	Release   string
	Namespace string
	// Values win over ValuesFiles, and those over the chart's values.yaml.
	Values      map[string]any
	ValuesFiles []string
	// Timeout is that of each step; default a minute. Nothing waits for pods to be ready.
	Timeout time.Duration
	// Path is the chart's folder; default charts/controlee of the checkout.
	Path string
	// Config is who installs; default the admin.
	Config *rest.Config
}

// InstallChart does what "helm install --create-namespace" does.
func (c *Cluster) InstallChart(ctx context.Context, o Chart) error {
	return c.withHelm(o, func(helm *action.Configuration, timeout time.Duration) error {
		loaded, values, err := c.loadChart(o)
		if err != nil {
			return err
		}
		install := action.NewInstall(helm)
		install.ReleaseName, install.Namespace, install.CreateNamespace = o.Release, o.Namespace, true
		install.Timeout = timeout
		_, err = install.RunWithContext(ctx, loaded, values)
		return err
	})
}

// UpgradeChart does what "helm upgrade --reset-values" does: what Values and ValuesFiles do not say is as in the chart.
func (c *Cluster) UpgradeChart(ctx context.Context, o Chart) error {
	return c.withHelm(o, func(helm *action.Configuration, timeout time.Duration) error {
		loaded, values, err := c.loadChart(o)
		if err != nil {
			return err
		}
		upgrade := action.NewUpgrade(helm)
		upgrade.Namespace, upgrade.ResetValues = o.Namespace, true
		upgrade.Timeout = timeout
		_, err = upgrade.RunWithContext(ctx, o.Release, loaded, values)
		return err
	})
}

// UninstallChart does what "helm uninstall --wait" does; only Release, Namespace, Timeout and Config matter.
func (c *Cluster) UninstallChart(_ context.Context, o Chart) error {
	return c.withHelm(o, func(helm *action.Configuration, timeout time.Duration) error {
		uninstall := action.NewUninstall(helm)
		// Without a controller manager nothing is collected, and waiting for that would be in vain.
		uninstall.Wait = c.ControllerManager != nil
		uninstall.Timeout = timeout
		_, err := uninstall.Run(o.Release)
		return err
	})
}

// withHelm gives Helm a client of the chart's installer and a log in the cluster's folder.
func (c *Cluster) withHelm(o Chart, do func(*action.Configuration, time.Duration) error) error {
	if o.Config == nil {
		o.Config = c.admin
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	log, err := os.OpenFile(filepath.Join(c.Dir, "logs", "helm.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // a log that could not be written is seen to be empty
	helm := new(action.Configuration)
	err = helm.Init(newHelmGetter(o.Config, o.Namespace), o.Namespace, "secrets", func(format string, args ...any) {
		fmt.Fprintf(log, format+"\n", args...)
	})
	if err == nil {
		err = do(helm, o.Timeout)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("release %s/%s: %w", o.Namespace, o.Release, err), c.Died())
	}
	return nil
}

func (c *Cluster) loadChart(o Chart) (*chart.Chart, map[string]any, error) {
	if o.Path == "" {
		o.Path = filepath.Join(c.root, "charts", "controlee")
	}
	loaded, err := loader.Load(o.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("load the chart: %w", err)
	}
	merged := copyValues(o.Values)
	// The first to set a value wins, so the last file comes first.
	for _, path := range slices.Backward(o.ValuesFiles) {
		file, err := chartutil.ReadValuesFile(path)
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", path, err)
		}
		merged = chartutil.MergeTables(merged, file)
	}
	return loaded, merged, nil
}

// copyValues copies the tables: merging writes into them, and the caller may use its own again.
func copyValues(from map[string]any) map[string]any {
	to := make(map[string]any, len(from))
	for key, value := range from {
		if table, ok := value.(map[string]any); ok {
			value = copyValues(table)
		}
		to[key] = value
	}
	return to
}
