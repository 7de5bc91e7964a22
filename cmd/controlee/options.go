package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/controlee/controlee/pkg/operator"
)

// version is set when a release is built.
var version = "dev"

// run parses the command line and runs the operator until ctx is done.
func run(ctx context.Context, args []string) error {
	options := operator.NewOptions()
	flags := pflag.NewFlagSet("controlee", pflag.ContinueOnError)
	options.AddFlags(flags)
	showVersion := flags.Bool("version", false, "print the version and exit")
	kubeconfig := flag.NewFlagSet("kubeconfig", flag.ContinueOnError)
	config.RegisterFlags(kubeconfig)
	flags.AddGoFlagSet(kubeconfig)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return err
	}
	if *showVersion {
		fmt.Println("controlee", version)
		return nil
	}
	if err := options.Validate(); err != nil {
		return err
	}

	log, err := operator.NewLogger(options.Log, options.SystemNamespace)
	if err != nil {
		return err
	}
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("client-go"))
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	log.Info("Starting", "version", version, "pod", options.PodName, "systemNamespace", options.SystemNamespace)
	err = options.Run(ctx, restConfig, log)
	if err == nil {
		log.Info("Stopped")
	}
	return err
}
