package tell

import (
	"context"
	"fmt"
	"time"
)

// Step is one part of a story.
type Step struct {
	Title string
	Run   func(context.Context) error
}

// Told is a step that was run.
type Told struct {
	Title string
	Took  time.Duration
	// Facts are what was measured within the step.
	Facts []Fact
	// Failed says that the story ended with this step.
	Failed bool
}

// Fact is a time that a step measured.
type Fact struct {
	What string
	Took time.Duration
}

// Tell runs the steps one after the other until one fails, which is a [*StepError], or the context ends, which is its cause.
func Tell(ctx context.Context, page *Page, steps []Step) ([]Told, error) {
	var told []Told
	for i, step := range steps {
		if ctx.Err() != nil {
			return told, context.Cause(ctx)
		}
		page.title(i+1, len(steps), step.Title)
		start := time.Now()
		err := step.Run(ctx)
		one := Told{Title: step.Title, Took: time.Since(start), Facts: page.takeFacts(), Failed: err != nil}
		told = append(told, one)
		if err == nil {
			page.took(one.Took)
			continue
		}
		if interrupted(ctx) {
			return told, context.Cause(ctx)
		}
		return told, &StepError{Number: i + 1, Total: len(steps), Title: step.Title, Err: err}
	}
	return told, nil
}

// signalDelay is how much later this process may learn of a Ctrl-C than a command that it runs: the terminal sends it
// to both.
const signalDelay = 200 * time.Millisecond

// interrupted says whether a step that failed did so because the story was told to end.
func interrupted(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	case <-time.After(signalDelay):
		return false
	}
}

// StepError says which step failed.
type StepError struct {
	Number, Total int
	Title         string
	Err           error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("step %d of %d, %q: %v", e.Number, e.Total, e.Title, e.Err)
}

// Unwrap returns why it failed.
func (e *StepError) Unwrap() error { return e.Err }

// MismatchError is an error that says what a step expected and what it saw instead.
type MismatchError struct {
	Expected, Seen string
}

func (m *MismatchError) Error() string {
	return fmt.Sprintf("expected %s; seen: %s", m.Expected, m.Seen)
}
