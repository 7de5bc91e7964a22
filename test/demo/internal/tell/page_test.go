package tell

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestPage(t *testing.T) {
	var out strings.Builder
	page := NewPage(&out, false)
	page.title(3, 12, "Look")
	page.Say("There are %d.", 2)
	page.Command("anna", "kubectl get foos")
	page.Output("NAME\nhello\n")
	page.Output("")
	page.took(61 * time.Second)
	want := `
[3/12] Look
  There are 2.

  anna $ kubectl get foos
  NAME
  hello

  done in 1 min 1 s
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestColours(t *testing.T) {
	for colour, want := range map[bool]string{false: "one\ntwo\n", true: "\x1b[1mone\x1b[0m\n\x1b[1mtwo\x1b[0m\n"} {
		var out strings.Builder
		NewPage(&out, colour).Heading("one\ntwo")
		if out.String() != want {
			t.Errorf("colour %v: %q, want %q", colour, out.String(), want)
		}
	}
}

func TestACommandHasAPromptOfAnotherColour(t *testing.T) {
	var out strings.Builder
	NewPage(&out, true).Command("anna", "kubectl get foos")
	if want := "\n  \x1b[33manna $\x1b[0m \x1b[1mkubectl get foos\x1b[0m\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestColourIsForTerminals(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close() //nolint:errcheck // nothing was written
	for name, test := range map[string]struct {
		file        *os.File
		environment map[string]string
		want        bool
	}{
		"a file":             {file: file},
		"a device":           {file: device, want: true},
		"NO_COLOR":           {file: device, environment: map[string]string{"NO_COLOR": "1"}},
		"NO_COLOR, empty":    {file: device, environment: map[string]string{"NO_COLOR": ""}, want: true},
		"a terminal without": {file: device, environment: map[string]string{"TERM": "dumb"}},
	} {
		if got := Colour(test.file, func(name string) string { return test.environment[name] }); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		2100 * time.Microsecond:               "2.1 ms",
		34 * time.Millisecond:                 "34 ms",
		999 * time.Millisecond:                "999 ms",
		1040 * time.Millisecond:               "1.0 s",
		12300 * time.Millisecond:              "12.3 s",
		5 * time.Minute:                       "5 min 0 s",
		2*time.Minute + 3600*time.Millisecond: "2 min 4 s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	var out strings.Builder
	NewPage(&out, false).Summary([]Told{
		{Title: "Begin", Took: 1200 * time.Millisecond, Facts: []Fact{{"the first half", 34 * time.Millisecond}}},
		{Title: "Go on, to the end", Took: 800 * time.Millisecond},
	})
	want := `
  1  Begin               1.2 s
       the first half    34 ms
  2  Go on, to the end  800 ms
     together            2.0 s
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
