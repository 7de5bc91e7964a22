package chart_test

import (
	"regexp"
	"strings"
)

// A command in a message stands on a line of its own, in parentheses, between backticks, or at the end behind a colon.
var command = regexp.MustCompile("(?m)(?:^  |\\(|`|: )((?:kubectl|helm) [a-z][^\n]*)")

// commandsOf takes the commands out of a message.
func commandsOf(message string) []string {
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
		all = append(all, strings.TrimSpace(line))
		message = message[found[2]+len(line):]
	}
}

// closing is where the parenthesis that was opened before the text ends.
func closing(text string) int {
	depth := 0
	for i, character := range text {
		switch character {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return len(text)
}
