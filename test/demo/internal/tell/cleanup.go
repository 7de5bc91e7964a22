package tell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Cleanup is what has to be undone at the end.
type Cleanup struct {
	mu    sync.Mutex
	tasks []task
}

type task struct {
	what string
	undo func(context.Context) error
}

// Add notes how to undo what was just done, or is about to be.
func (c *Cleanup) Add(what string, undo func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks = append(c.tasks, task{what, undo})
}

// Run undoes everything, last things first, each of them even if another one failed. Later calls do nothing.
func (c *Cleanup) Run(ctx context.Context) error {
	c.mu.Lock()
	tasks := c.tasks
	c.tasks = nil
	c.mu.Unlock()
	var all []error
	for _, task := range slices.Backward(tasks) {
		if err := task.undo(ctx); err != nil {
			all = append(all, fmt.Errorf("%s: %w", task.what, err))
		}
	}
	return errors.Join(all...)
}
