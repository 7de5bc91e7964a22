package message

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShorten(t *testing.T) {
	long := strings.Repeat("é", 1000)
	got := Shorten(long, 101)
	if len(got) > 101 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
		t.Errorf("got %d bytes, valid %v: %q", len(got), utf8.ValidString(got), got)
	}
	if got := Shorten("short", 5); got != "short" {
		t.Errorf("got %q", got)
	}
}
