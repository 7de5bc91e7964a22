// Package commands finds the command lines that messages and documents print, so that tests run
// what people are told to run.
package commands

import (
	"fmt"
	"regexp"
	"strings"
)

// A command in a message begins a line of its own, or follows a parenthesis, a backtick or a colon.
var command = regexp.MustCompile("(?m)(?:^ {2}|\\(|`|: )((?:kubectl|helm) [a-z-][^\n]*)")

// Of returns the command lines in a message: those on lines of their own, in parentheses, between
// backticks, and behind a colon at the end of a line.
func Of(message string) []string {
	var all []string
	for {
		found := command.FindStringSubmatchIndex(message)
		if found == nil {
			return all
		}
		opener, line := message[found[0]:found[2]], message[found[2]:found[3]]
		switch {
		case strings.HasSuffix(opener, "("):
			line = line[:closing(line)]
		case strings.HasSuffix(opener, "`"):
			line, _, _ = strings.Cut(line, "`")
		}
		// A word behind the command explains it: (kubectl get pods shows them).
		line, _, _ = strings.Cut(line, " lists ")
		all = append(all, strings.TrimSpace(line))
		message = message[found[2]+len(line):]
	}
}

// closing returns the index of the parenthesis that ends what was opened before the text.
func closing(text string) int {
	depth := 0
	for i, character := range text {
		switch character {
		case '(':
			depth++
		case ')':
			depth--
			if depth < 0 {
				return i
			}
		}
	}
	return len(text)
}

// InSection returns the command lines between a heading of a Markdown document and the next heading
// of any level: those behind a prompt in console blocks, in order. A line that ends with a
// backslash goes on with the next one.
func InSection(document, heading string) ([]string, error) {
	var all []string
	inside, console, open, found := false, false, false, false
	for line := range strings.Lines(document) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			console, open = inside && line == "```console", false
		case console && open:
			all[len(all)-1] += "\n" + line
			open = strings.HasSuffix(line, "\\")
		case console && strings.HasPrefix(line, "$ "):
			all = append(all, strings.TrimPrefix(line, "$ "))
			open = strings.HasSuffix(line, "\\")
		case console:
			// What the command prints.
		case line == heading:
			inside, found = true, true
		case strings.HasPrefix(line, "#"):
			inside = false
		}
	}
	if !found {
		return nil, fmt.Errorf("no heading %q", heading)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no commands under %q", heading)
	}
	return all, nil
}
