// Package message fits texts for people into the fields that the API server keeps them in.
package message

import "strings"

// The API server refuses longer texts.
const (
	// MaxEventNote is the length of the note of an Event.
	MaxEventNote = 1024
	// MaxCondition is the length of the message of a condition.
	MaxCondition = 32768
)

// Shorten cuts a text to at most limit bytes, at the end of a character, and marks the cut.
func Shorten(text string, limit int) string {
	const mark = "…"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(mark)], "") + mark
}
