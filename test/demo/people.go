package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/controlee/controlee/test/demo/internal/tell"
)

// person is somebody in the story who types kubectl.
type person struct {
	// prompt is what they are called.
	prompt string
	// kubeconfig is the file in their KUBECONFIG.
	kubeconfig string
	// flags and namespace are what they type in addition, where the kubeconfig does not say who they are and where.
	flags     []string
	namespace string
	// who they are to the API server.
	user, group string
}

// The two users. Their groups are those that values.yaml makes editors.
const (
	userOfTeamA  = "anna"
	groupOfTeamA = "team-a"
	userOfTeamB  = "ben"
	groupOfTeamB = "team-b"
)

// commandLimit is how long one kubectl may take besides waiting for something.
const commandLimit = 2 * time.Minute

// run prints and runs kubectl and prints what it prints. If it fails, that is a mismatch.
func (w *world) run(ctx context.Context, who person, args ...string) error {
	_, errOut, err := w.try(ctx, who, args...)
	if err != nil {
		return &tell.MismatchError{Expected: "kubectl " + args[0] + " to succeed", Seen: failureOf(errOut, err)}
	}
	return nil
}

// refused runs kubectl and expects that the API server forbids it.
func (w *world) refused(ctx context.Context, who person, args ...string) error {
	out, errOut, err := w.try(ctx, who, args...)
	forbidden := fmt.Sprintf("is forbidden: User %q cannot", who.user)
	expected := fmt.Sprintf("the API server to refuse it: %s ...", forbidden)
	switch {
	case err == nil:
		return &tell.MismatchError{Expected: expected, Seen: "it is allowed: " + out + errOut}
	case !strings.Contains(errOut, forbidden):
		return &tell.MismatchError{Expected: expected, Seen: failureOf(errOut, err)}
	}
	return nil
}

func failureOf(errOut string, err error) string {
	if errOut = strings.TrimSpace(errOut); errOut == "" {
		return err.Error()
	}
	return errOut
}

// try prints and runs kubectl and prints what it prints.
func (w *world) try(ctx context.Context, who person, args ...string) (out, errOut string, err error) {
	if ctx.Err() != nil {
		return "", "", context.Cause(ctx)
	}
	args = who.types(args...)
	w.page.Command(who.prompt, commandLine("kubectl", args...))
	ctx, cancel := context.WithTimeout(ctx, patience+commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.kubectl, args...) //nolint:gosec // G204: the story's commands
	// No setting of the user's may change what the story shows, and nothing may be left of it.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+who.kubeconfig, "KUBECTL_KUBERC=false", "KUBECACHEDIR="+filepath.Join(w.dir, "kubectl"))
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	w.page.Output(stdout.String())
	w.page.Output(stderr.String())
	return stdout.String(), stderr.String(), err
}

// types completes the arguments of a kubectl.
func (p person) types(args ...string) []string {
	typed := append(slices.Clone(p.flags), args...)
	if p.namespace != "" && !slices.Contains(args, "-n") && !slices.Contains(args, "--all-namespaces") {
		typed = append(typed, "-n", p.namespace)
	}
	return typed
}

// commandLine writes a command so that a shell reads it as it is.
func commandLine(program string, args ...string) string {
	words := []string{program}
	for _, arg := range args {
		words = append(words, quote(arg))
	}
	return strings.Join(words, " ")
}

func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=/.,:@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
