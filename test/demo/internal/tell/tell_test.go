package tell

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestTellRunsTheStepsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		page := NewPage(&out, false)
		told, err := Tell(t.Context(), page, []Step{
			{"First", func(context.Context) error {
				time.Sleep(1500 * time.Millisecond)
				page.Measured("the half", 750*time.Millisecond)
				return nil
			}},
			{"Second", func(context.Context) error { return nil }},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(told) != 2 || told[0].Took != 1500*time.Millisecond || told[0].Failed || len(told[1].Facts) != 0 {
			t.Errorf("told %+v", told)
		}
		if want := []Fact{{"the half", 750 * time.Millisecond}}; !slices.Equal(told[0].Facts, want) {
			t.Errorf("the facts of the first are %v, want %v", told[0].Facts, want)
		}
		inOrder(t, out.String(), "[1/2] First", "the half: 750 ms", "done in 1.5 s", "[2/2] Second", "done in")
	})
}

func TestTellEndsWithTheStepThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		page := NewPage(&out, false)
		told, err := Tell(t.Context(), page, []Step{
			{"Lay the table", func(context.Context) error { return nil }},
			{"Cook", func(context.Context) error { return &MismatchError{Expected: "a meal", Seen: "smoke\nand fire"} }},
			{"Eat", func(context.Context) error { t.Error("the step after the one that failed is run"); return nil }},
		})
		var failed *StepError
		if !errors.As(err, &failed) || failed.Number != 2 || failed.Total != 3 || failed.Title != "Cook" {
			t.Fatalf("the error is %v, want one of step 2 of 3, Cook", err)
		}
		if len(told) != 2 || told[0].Failed || !told[1].Failed {
			t.Errorf("told %+v", told)
		}
		page.Summary(told)
		page.Failure(err)
		inOrder(t, out.String(),
			"Cook (failed)",
			"FAILED in step 2 of 3: Cook",
			"expected: a meal\n",
			"seen:     smoke\n",
			"            and fire\n")
	})
}

func TestFailureOutsideAStep(t *testing.T) {
	var out strings.Builder
	NewPage(&out, false).Failure(errors.New("no table"))
	if out.String() != "\nFAILED: no table\n" {
		t.Errorf("%q", out.String())
	}
}

func TestTellEndsWhenInterrupted(t *testing.T) {
	for name, late := range map[string]time.Duration{"before the step fails": 0, "a moment after, as Ctrl-C goes to commands too": signalDelay / 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				cause := errors.New("interrupt")
				_, err := Tell(ctx, NewPage(&strings.Builder{}, false), []Step{
					{"Wait", func(context.Context) error {
						time.AfterFunc(late, func() { cancel(cause) })
						return errors.New("the command was interrupted")
					}},
					{"Never", func(context.Context) error { t.Error("a step is run after the interrupt"); return nil }},
				})
				if !errors.Is(err, cause) {
					t.Errorf("the error is %v, want %v: no step has failed", err, cause)
				}
			})
		})
	}
}

func TestInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal)
		defer close(signals)
		story, patience := Interrupts(signals)
		expect := func(storyEnded, patienceEnded bool) {
			t.Helper()
			synctest.Wait()
			if (story.Err() != nil) != storyEnded || (patience.Err() != nil) != patienceEnded {
				t.Fatalf("story: %v, patience: %v", story.Err(), patience.Err())
			}
		}
		expect(false, false)
		signals <- syscall.SIGINT
		expect(true, false)
		if cause := context.Cause(story); !errors.Is(cause, context.Canceled) || !strings.Contains(cause.Error(), "interrupt") {
			t.Errorf("the cause is %v", cause)
		}
		// Each line that is printed for nobody brings one.
		signals <- syscall.SIGPIPE
		signals <- syscall.SIGPIPE
		expect(true, false)
		signals <- syscall.SIGINT
		expect(true, true)
	})
}

func TestCleanupUndoesTheLastThingFirst(t *testing.T) {
	var cleanup Cleanup
	var order []string
	add := func(what string, err error) {
		cleanup.Add("remove "+what, func(context.Context) error { order = append(order, what); return err })
	}
	add("the folder", nil)
	add("the cluster", errors.New("it hangs"))
	add("the operator", nil)
	err := cleanup.Run(t.Context())
	if want := []string{"the operator", "the cluster", "the folder"}; !slices.Equal(order, want) {
		t.Errorf("undone were %v, want %v", order, want)
	}
	if err == nil || err.Error() != "remove the cluster: it hangs" {
		t.Errorf("the error is %v", err)
	}
	if err := cleanup.Run(t.Context()); err != nil || len(order) != 3 {
		t.Errorf("the second run undid something again: %v, %v", order, err)
	}
}

// inOrder checks that texts are there, one after the other.
func inOrder(t *testing.T, in string, texts ...string) {
	t.Helper()
	rest := in
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("%q is not there, or not in this order, in:\n%s", text, in)
		}
		rest = after
	}
}
