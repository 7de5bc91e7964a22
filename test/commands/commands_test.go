package commands_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/controlee/controlee/test/cluster/repo"
	"github.com/controlee/controlee/test/commands"
)

func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		message string
		want    []string
	}{
		"None":        {reason: "A message need not name a command.", message: "the kubectl of the helm is kubectl"},
		"Parentheses": {reason: "Parentheses of the command's own do not end it.", message: "look (kubectl get bars --selector 'a in (b)'), or (helm list)", want: []string{"kubectl get bars --selector 'a in (b)'", "helm list"}},
		"Backticks":   {reason: "A command can be quoted.", message: "`kubectl rollout resume deployment/web` goes on; `helm list` too", want: []string{"kubectl rollout resume deployment/web", "helm list"}},
		"Lines":       {reason: "Notes print commands on lines of their own.", message: "Run\n\n  kubectl get pods\n  helm list\n\nand", want: []string{"kubectl get pods", "helm list"}},
		"Colon":       {reason: "A command can end a line.", message: "- gone. Run: kubectl get pods | cat\n- x", want: []string{"kubectl get pods | cat"}},
		"Explained":   {reason: "The words behind a command are not its own.", message: "choose one (kubectl auth can-i --list lists them), or not", want: []string{"kubectl auth can-i --list"}},
	} {
		if got := commands.Of(c.message); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %q, want %q: %s", name, got, c.want, c.reason)
		}
	}
}

func TestInSection(t *testing.T) {
	const document = "# A\n```console\n$ one\nprinted\n$ two \\\n  more\n```\n## B\n```console\n$ three\n```\n```yaml\n$ no: command\n```\n# C\n```console\n$ four\n```\n"
	for heading, want := range map[string][]string{"# A": {"one", "two \\\n  more"}, "## B": {"three"}, "# C": {"four"}, "# D": nil} {
		got, err := commands.InSection(document, heading)
		if !reflect.DeepEqual(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%s: got %q, %v, want %q", heading, got, err, want)
		}
	}
}

// run are the commands that messages name, with the test that takes each out of the real message
// and runs it.
var run = map[string]string{
	"kubectl rollout resume deployment/":                    "test/integration TestCommandInTheConditionOfAPausedFoo",
	"kubectl auth can-i --list ":                            "test/chart TestCommandsInMessages",
	"kubectl create namespace ":                             "test/chart TestCommandsInMessages",
	"kubectl delete lease controlee ":                       "test/chart TestCommandsInMessages",
	"kubectl --namespace ":                                  "test/chart TestCommandsInMessages",
	"helm upgrade ":                                         "test/chart TestCommandsInMessages, TestUpgradeThatRemovesEveryTenantIsRefused",
	"helm uninstall ":                                       "test/chart TestCommandsInMessages",
	"helm show crds CHART | ":                               "test/chart TestCommandsInMessages",
	"kubectl apply --server-side --force-conflicts -f -":    "test/chart TestCommandsInMessages",
	"kubectl get bars ":                                     "test/chart TestUpgradeThatRemovesEveryTenantIsRefused",
	`kubectl delete {{ include "controlee.barObjectResourc`: "test/chart TestUpgradeThatRemovesEveryTenantIsRefused",
	"kubectl annotate deployments,services --all ":          "test/chart TestUpgradeThatRemovesEveryTenantIsRefused",
	"kubectl delete bars ":                                  "test/chart TestUpgradeThatRemovesEveryTenantIsRefused",
	"kubectl delete bar %[4]s -n %[5]s`":                    "test/integration TestHostnameOfATenantThatGoes",
	"kubectl delete %s %s ":                                 "test/chart TestProtectionStaysWithTheNamespace",
}

// mention finds where a message names a command; "helm upgrade" alone is one that lacks its
// arguments.
var mention = regexp.MustCompile(`\b(?:kubectl|helm) (?:--)?[a-z]`)

// Whoever writes a command into a message adds the test that runs it as it is printed.
func TestEveryCommandInAMessageIsRun(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	check := func(path, text string) {
		for _, at := range mention.FindAllStringIndex(text, -1) {
			line, _, _ := strings.Cut(text[at[0]:], "\n")
			known := false
			for prefix := range run {
				if strings.HasPrefix(line, prefix) {
					known, found[prefix] = true, true
				}
			}
			if !known {
				t.Errorf("%s names a command that no test runs: %s", path, line)
			}
		}
	}
	for path, text := range goStrings(t, root) {
		check(path, text)
	}
	for path, text := range templates(t, root) {
		check(path, text)
	}
	for prefix := range run {
		if !found[prefix] {
			t.Errorf("no message names %q any more", prefix)
		}
	}
}

// goStrings are the string literals of the operator's code, by file.
func goStrings(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	walk(t, []string{filepath.Join(root, "pkg"), filepath.Join(root, "cmd")}, func(path string) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				all[path] += text + "\n"
			}
			return true
		})
	})
	return all
}

var templateComment = regexp.MustCompile(`(?s)\{\{-? ?/\*.*?\*/ ?-?\}\}|(?m)^ *#[^\n]*$`)

// templates are the templates of the chart without their comments, by file.
func templates(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	walk(t, []string{filepath.Join(root, "charts", "controlee", "templates")}, func(path string) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = templateComment.ReplaceAllString(string(content), "")
	})
	return all
}

func walk(t *testing.T, folders []string, visit func(path string)) {
	t.Helper()
	files := 0
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				files++
				visit(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 10 {
		t.Fatalf("%d files in %v", files, slices.Sorted(slices.Values(folders)))
	}
}
