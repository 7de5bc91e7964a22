// Command demo tells two stories on a real Kubernetes, with two teams and an operator with two replicas: of a Foo that is
// applied, scaled, broken and repaired, and of an ordinary Deployment that gets a load balancer. Then a leader is killed.
//
//	go run ./test/demo
//
// Without more it starts a control plane of its own and leaves nothing behind. See docs/demo.md for DEMO_EXIT,
// DEMO_KUBECONFIG and DEMO_IMAGE.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/controlee/controlee/test/demo/internal/tell"
)

// Exit codes. 130 is what a shell gives for a program that was ended by Ctrl-C.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInterrupted = 130
)

func main() {
	options, err := readOptions(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(exitFailed)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go watchParent(signals)
	log.SetLogger(logr.Discard()) // what controller-runtime's client has to say comes as errors too
	page := tell.NewPage(os.Stdout, tell.Colour(os.Stdout, os.Getenv))
	story, patience := tell.Interrupts(signals)
	// Whoever presses Ctrl-C a third time wants out, whatever is left.
	context.AfterFunc(patience, func() { signal.Reset() })
	os.Exit(run(story, patience, page, options))
}

// run tells the story and cleans up, and returns the exit code.
func run(story, patience context.Context, page *tell.Page, options options) int {
	w := newWorld(page, options)
	err := w.demonstrate(story)
	code := exitOK
	switch {
	case err == nil && !options.exit:
		page.Line("")
		page.Heading("Cleaning up.")
	case err == nil:
	case story.Err() != nil && errors.Is(err, context.Canceled):
		page.Line("")
		page.Heading("Interrupted: cleaning up. Once more hurries.")
		code = exitInterrupted
	default:
		page.Failure(err)
		w.explain(patience)
		code = exitFailed
	}
	if err := w.cleanup.Run(patience); err != nil {
		page.Failure(fmt.Errorf("clean up: %w", err))
		code = max(code, exitFailed)
	}
	return code
}

// watchParent counts the end of the process that started this one as a signal: "go run" passes on no SIGTERM.
func watchParent(signals chan<- os.Signal) {
	for parent := os.Getppid(); os.Getppid() == parent; {
		time.Sleep(500 * time.Millisecond)
	}
	signals <- syscall.SIGHUP
}
