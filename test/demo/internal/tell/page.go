package tell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Page is what the story is printed on.
type Page struct {
	mu     sync.Mutex
	out    io.Writer
	colour bool
	facts  []Fact
}

// NewPage prints on out, with colours or without.
func NewPage(out io.Writer, colour bool) *Page {
	return &Page{out: out, colour: colour}
}

// Colour says whether to print a file with colours: on a terminal, unless NO_COLOR (https://no-color.org) is set.
func Colour(file *os.File, environment func(string) string) bool {
	info, err := file.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return terminal && environment("NO_COLOR") == "" && environment("TERM") != "dumb"
}

// The styles of Select Graphic Rendition that are used.
const (
	bold   = "1"
	faint  = "2"
	red    = "1;31"
	green  = "32"
	yellow = "33"
)

// indent sets what belongs to a step apart from its title.
const indent = "  "

// Say prints a sentence.
func (p *Page) Say(format string, args ...any) {
	p.print(indent, "", fmt.Sprintf(format, args...))
}

// Command prints a command as somebody types it at a prompt.
func (p *Page) Command(who, line string) {
	p.print("", "", "")
	p.print(indent, "", p.style(yellow, who+" $")+" "+p.style(bold, line))
}

// Output prints what a command printed.
func (p *Page) Output(text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		p.print(indent, "", text)
	}
}

// Measured prints a time that was measured, and keeps it for the summary.
func (p *Page) Measured(what string, took time.Duration) {
	p.mu.Lock()
	p.facts = append(p.facts, Fact{what, took})
	p.mu.Unlock()
	p.print(indent, green, "=> "+what+": "+Duration(took))
}

// Heading prints a line that stands out.
func (p *Page) Heading(format string, args ...any) {
	p.print("", bold, fmt.Sprintf(format, args...))
}

// Line prints a line as it is.
func (p *Page) Line(format string, args ...any) {
	p.print("", "", fmt.Sprintf(format, args...))
}

// Failure prints what went wrong, so that a reader finds the step, what was expected and what was seen.
func (p *Page) Failure(err error) {
	p.Line("")
	step := &StepError{}
	if !errors.As(err, &step) {
		p.print("", red, "FAILED: "+err.Error())
		return
	}
	p.print("", red, fmt.Sprintf("FAILED in step %d of %d: %s", step.Number, step.Total, step.Title))
	mismatch := &MismatchError{}
	if !errors.As(err, &mismatch) {
		p.print(indent, "", "error:    "+hanging(step.Err.Error()))
		return
	}
	p.print(indent, "", "expected: "+hanging(mismatch.Expected))
	p.print(indent, "", "seen:     "+hanging(mismatch.Seen))
}

// hanging lines up what follows the first line with it.
func hanging(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n          ")
}

func (p *Page) title(number, total int, title string) {
	p.print("", "", "")
	p.print("", bold, fmt.Sprintf("[%d/%d] %s", number, total, title))
}

func (p *Page) took(took time.Duration) {
	p.print("", "", "")
	p.print(indent, faint, "done in "+Duration(took))
}

func (p *Page) takeFacts() []Fact {
	p.mu.Lock()
	defer p.mu.Unlock()
	facts := p.facts
	p.facts = nil
	return facts
}

// print prints lines, each indented and in a style. That they cannot be printed ends no story: a reader who left wants
// it to be cleaned up all the same.
func (p *Page) print(indent, style, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			line = indent + p.style(style, line)
		}
		fmt.Fprintln(p.out, line)
	}
}

func (p *Page) style(code, text string) string {
	if !p.colour || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Duration writes a time with as much of it as matters.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
}
