package names

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestDerive(t *testing.T) {
	cases := map[string]struct {
		reason   string
		readable string
		parts    []string
		prefix   string
	}{
		"Plain":          {reason: "People find the source's name in it.", readable: "web", parts: []string{"Deployment", "team-a", "web"}, prefix: "web-"},
		"Dots":           {reason: "A Deployment's name may have dots, a Service's may not.", readable: "web.v2", parts: []string{"a"}, prefix: "web-v2-"},
		"Digit":          {reason: "A Service's name begins with a letter.", readable: "1web", parts: []string{"a"}, prefix: "x1web-"},
		"Empty":          {reason: "Even then it is a name.", readable: "", parts: nil, prefix: "x-"},
		"Long":           {reason: "The hash stays whole at any length.", readable: strings.Repeat("a", 253), parts: []string{"a"}, prefix: strings.Repeat("a", 46) + "-"},
		"CutAtADash":     {reason: "No two dashes where the name was cut.", readable: strings.Repeat("a", 45) + "-bcd", parts: []string{"a"}, prefix: strings.Repeat("a", 45) + "-"},
		"OnlyDashesLeft": {reason: "A name that is all punctuation.", readable: "...", parts: []string{"a"}, prefix: "x-"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Derive(tc.readable, tc.parts...)
			if errs := validation.IsDNS1035Label(got); len(errs) > 0 {
				t.Errorf("%s\n%q: %v", tc.reason, got, errs)
			}
			if !strings.HasPrefix(got, tc.prefix) || len(got) != len(tc.prefix)+hashLength {
				t.Errorf("%s\ngot %q, want %q and a hash", tc.reason, got, tc.prefix)
			}
			if again := Derive(tc.readable, tc.parts...); again != got {
				t.Errorf("%q, then %q", got, again)
			}
		})
	}
}

func TestDeriveTellsPartsApart(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{
		{"a-b", "c"}, {"a", "b-c"}, {"a-b-c"}, {"a", "b", "c"}, {"", "a-b-c"}, {"a-b-c", ""}, {"a", "1:b"}, {"a1:b"}, {"1:a"}, {"c", "a-b"}, {},
	} {
		name := Derive("same", parts...)
		if other, taken := seen[name]; taken {
			t.Errorf("%q and %q are both %s", parts, other, name)
		}
		seen[name] = parts
	}
}
