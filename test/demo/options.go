package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// options are what the environment can set.
type options struct {
	// exit ends the demonstration after the story (DEMO_EXIT=1).
	exit bool
	// kubeconfig is the file of a cluster that exists (DEMO_KUBECONFIG); empty: a control plane of its own.
	kubeconfig string
	// image is the operator's image for that cluster (DEMO_IMAGE); empty: the operator runs as processes on this machine.
	image string
}

func readOptions(environment func(string) string) (options, error) {
	o := options{kubeconfig: environment("DEMO_KUBECONFIG"), image: environment("DEMO_IMAGE")}
	if value := environment("DEMO_EXIT"); value != "" {
		var err error
		if o.exit, err = strconv.ParseBool(value); err != nil {
			return options{}, fmt.Errorf("DEMO_EXIT=%s: write 1 to end after the story, or leave it out", value)
		}
	}
	if o.image != "" && o.kubeconfig == "" {
		return options{}, fmt.Errorf("DEMO_IMAGE=%s without DEMO_KUBECONFIG: the demonstration's own nodes only pretend to run images; "+
			"leave DEMO_IMAGE out, or name a cluster's kubeconfig file in DEMO_KUBECONFIG", o.image)
	}
	if o.kubeconfig == "" {
		return o, nil
	}
	if _, err := os.Stat(o.kubeconfig); err != nil {
		return options{}, fmt.Errorf("DEMO_KUBECONFIG names no file that can be read: %w", err)
	}
	var err error
	o.kubeconfig, err = filepath.Abs(o.kubeconfig)
	return o, err
}
