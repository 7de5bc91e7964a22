package tell

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// Interrupts turns signals into the ends of two contexts: the first signal ends the story, so that it is cleaned up, and
// the second ends the patience for that. Each context's cause names the signal.
//
// A SIGPIPE counts once: when the reader of the story has gone, each further line brings another.
func Interrupts(signals <-chan os.Signal) (story, patience context.Context) {
	story, endStory := context.WithCancelCause(context.Background())
	patience, endPatience := context.WithCancelCause(context.Background())
	go func() {
		for signal := range signals {
			cause := fmt.Errorf("%w: %s", context.Canceled, signal)
			switch {
			case story.Err() == nil:
				endStory(cause)
			case signal != syscall.SIGPIPE:
				endPatience(cause)
			}
		}
	}()
	return story, patience
}
