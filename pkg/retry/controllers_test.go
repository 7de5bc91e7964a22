package retry

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// withoutConflicts are the controllers whose Reconciler needs no OnConflict, with the reason.
var withoutConflicts = map[string]string{
	`"tenant-assignment"`: "it reads a cache, and writes nothing to the API server",
}

// TestEveryControllerBacksOff reads the source of all packages: each controller has the rate
// limiter of this package, and a Reconciler that is wrapped by OnConflict.
func TestEveryControllerBacksOff(t *testing.T) {
	found := map[string]bool{}
	for _, root := range []string{"..", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for name, faults := range controllersOf(file) {
				found[name] = true
				for _, fault := range faults {
					if withoutConflicts[name] == "" || !strings.Contains(fault, "OnConflict") {
						t.Errorf("%s: controller %s %s", path, name, fault)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{`"bar"`, `"foo"`, `"barclass"`, `"offboard"`, `"tenant-status"`, `"tenant-assignment"`, `"claim-"…`} {
		if !found[name] {
			t.Errorf("controller %s is not found: have this test look where it is made", name)
		}
	}
}

// controllersOf gives the controllers that a file makes, with what is wrong with each.
func controllersOf(file *ast.File) map[string][]string {
	controllers := map[string][]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch function := selected(call.Fun); {
		case strings.HasSuffix(function, ".NewControllerManagedBy"), strings.HasPrefix(function, "builder."):
			controllers[function] = []string{"is made by a builder: make it by controller.New, so that this test sees its options"}
		case strings.HasPrefix(function, "controller.New"):
			name := nameOf(call.Args[0])
			controllers[name] = []string{}
			for key, want := range map[string]string{"RateLimiter": "retry.NewRateLimiter", "Reconciler": "retry.OnConflict"} {
				if option(call.Args[len(call.Args)-1], key) != want {
					controllers[name] = append(controllers[name], "lacks "+key+": "+want+"(...)")
				}
			}
		}
		return true
	})
	return controllers
}

// selected gives the text of a selector such as retry.OnConflict.
func selected(expression ast.Expr) string {
	if selector, ok := expression.(*ast.SelectorExpr); ok {
		if name, ok := selector.X.(*ast.Ident); ok {
			return name.Name + "." + selector.Sel.Name
		}
	}
	return ""
}

// nameOf gives the first literal in the name of a controller, and an ellipsis if there is more.
func nameOf(expression ast.Expr) string {
	switch expression := expression.(type) {
	case *ast.BasicLit:
		return expression.Value
	case *ast.BinaryExpr:
		return nameOf(expression.X) + "…"
	}
	return "?"
}

// option gives the function whose result an option of a composite literal is.
func option(literal ast.Expr, key string) string {
	options, ok := literal.(*ast.CompositeLit)
	if !ok {
		return ""
	}
	for _, element := range options.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if name, ok := pair.Key.(*ast.Ident); ok && name.Name == key {
				if call, ok := pair.Value.(*ast.CallExpr); ok {
					return selected(call.Fun)
				}
			}
		}
	}
	return ""
}

func TestControllersOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		source string
		name   string
		faults int
	}{
		"Both":       {reason: "Nothing is missing.", name: `"a"`, source: `controller.New("a", m, controller.Options{RateLimiter: retry.NewRateLimiter(), Reconciler: retry.OnConflict(r)})`},
		"NoConflict": {reason: "The Reconciler is bare.", name: `"a"`, faults: 1, source: `controller.New("a", m, controller.Options{RateLimiter: retry.NewRateLimiter(), Reconciler: r})`},
		"Neither":    {reason: "The defaults are controller-runtime's.", name: `"a"…`, faults: 2, source: `controller.NewTyped("a"+b, m, controller.Options{Reconciler: r})`},
		"Hidden":     {reason: "Options that are made elsewhere are not seen.", name: `"a"`, faults: 2, source: `controller.New("a", m, options)`},
		"Builder":    {reason: "Nor are a builder's.", name: "ctrl.NewControllerManagedBy", faults: 1, source: `ctrl.NewControllerManagedBy(m).Complete(r)`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a\nfunc f() { "+tc.source+" }", parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			faults, ok := controllersOf(file)[tc.name]
			if !ok || len(faults) != tc.faults {
				t.Errorf("%s\ngot %q", tc.reason, controllersOf(file))
			}
		})
	}
}
