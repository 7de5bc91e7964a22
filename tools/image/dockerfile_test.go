package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// processTimeout is for a program that answers at once.
const processTimeout = time.Minute

// emptyImages stands for a registry: every image that is asked for exists and has nothing in it.
type emptyImages struct {
	llb.ImageMetaResolver // only one of its methods is called
}

func (emptyImages) ResolveImageConfig(_ context.Context, ref string, opt sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	config, err := json.Marshal(ocispecs.Image{Platform: *opt.ImageOpt.Platform})
	return ref, digest.FromBytes(config), config, err
}

func readDockerfile(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func options(content []byte) dockerfile2llb.ConvertOpt {
	platform := ocispecs.Platform{OS: "linux", Architecture: "arm64"}
	source := llb.NewSourceMap(nil, "Dockerfile", "Dockerfile", content)
	source.Definition = &llb.Definition{}
	return dockerfile2llb.ConvertOpt{
		Config: dockerui.Config{
			BuildArgs:      map[string]string{"VERSION": "1.2.3", "REVISION": "abc"},
			BuildPlatforms: []ocispecs.Platform{{OS: "linux", Architecture: "amd64"}},
		},
		SourceMap:      source,
		TargetPlatform: &platform,
		MetaResolver:   emptyImages{},
	}
}

// TestDockerfileCheck does what "docker build --check" does, with BuildKit's own code.
func TestDockerfileCheck(t *testing.T) {
	content := readDockerfile(t)
	results, err := dockerfile2llb.DockerfileLint(t.Context(), content, options(content))
	if err != nil {
		t.Fatal(err)
	}
	if results.Error != nil {
		t.Errorf("the Dockerfile cannot be built: %s", results.Error.Message)
	}
	for _, warning := range results.Warnings {
		t.Errorf("%s: %s", warning.RuleName, warning.Detail)
	}
	// It would see a mistake.
	content = append(content, "CMD /controlee\nUSR nobody\n"...)
	if results, err = dockerfile2llb.DockerfileLint(t.Context(), content, options(content)); err != nil {
		t.Fatal(err)
	}
	if results.Error == nil || !strings.Contains(results.Error.Message, "USR") {
		t.Errorf("a Dockerfile with a mistake passes: %+v", results.Error)
	}
}

// TestDockerfileMakesTheSameImage compares with what `make image` makes.
func TestDockerfileMakesTheSameImage(t *testing.T) {
	content := readDockerfile(t)
	result, err := dockerfile2llb.Dockerfile2LLB(t.Context(), content, options(content))
	if err != nil {
		t.Fatal(err)
	}
	got := result.Image.Config
	if got.User != user || !slices.Equal(got.Entrypoint, []string{"/controlee"}) || len(got.Cmd) > 0 || got.WorkingDir != "/" {
		t.Errorf("the Dockerfile's image runs %q %q as %q in %q", got.Entrypoint, got.Cmd, got.User, got.WorkingDir)
	}
	if want := labels("1.2.3", "abc"); !maps.Equal(got.Labels, want) {
		t.Errorf("the Dockerfile's labels are %s\nwant %s", toJSON(t, got.Labels), toJSON(t, want))
	}
	if result.Image.Architecture != "arm64" {
		t.Errorf("the image is for %s, want the target platform's arm64", result.Image.Architecture)
	}
}

// TestDockerfileBuilds runs the line that builds the operator, on the files that .dockerignore lets in.
func TestDockerfileBuilds(t *testing.T) {
	line := buildLine(t)
	dir, output := t.TempDir(), filepath.Join(t.TempDir(), "controlee")
	copyContext(t, dir)
	if !strings.Contains(line, "OUT=/controlee") {
		t.Fatalf("the line writes elsewhere: %s", line)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", strings.Replace(line, "OUT=/controlee", "OUT="+output, 1)) //nolint:gosec // G204: the Dockerfile's
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "MAKE") || strings.HasPrefix(entry, "MFLAGS=")
	}), "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH, "VERSION=1.2.3")
	if message, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, message)
	}
	program, err := os.ReadFile(output) //nolint:gosec // G304: just built
	if err != nil {
		t.Fatal(err)
	}
	if got := versionOf(t, program); got != "controlee 1.2.3" {
		t.Errorf("the program calls itself %q, want the version that was given", got)
	}
	if _, err := architectureOf(output); err != nil {
		t.Error(err)
	}
}

// buildLine returns the one RUN instruction.
func buildLine(t *testing.T) string {
	t.Helper()
	parsed, err := parser.Parse(bytes.NewReader(readDockerfile(t)))
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, command := range stages[0].Commands {
		if run, ok := command.(*instructions.RunCommand); ok {
			lines = append(lines, strings.Join(run.CmdLine, " "))
		}
	}
	if len(lines) != 1 {
		t.Fatalf("the first stage runs %q, want one line", lines)
	}
	return lines[0]
}

// copyContext copies what a container engine would send as the build context of a fresh clone.
func copyContext(t *testing.T, to string) {
	t.Helper()
	ignore, err := os.Open(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	defer ignore.Close() //nolint:errcheck // it was only read
	patterns, err := ignorefile.ReadAll(ignore)
	if err != nil {
		t.Fatal(err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		ignored, err := matcher.MatchesOrParentMatches(name)
		if err != nil {
			t.Fatal(err)
		}
		if ignored {
			continue
		}
		copyFile(t, filepath.Join(root, name), filepath.Join(to, name))
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return // removed, but not committed yet
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(from) //nolint:gosec // G304: a file of the checkout
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, info.Mode().Perm()); err != nil { //nolint:gosec // G703: git names the files
		t.Fatal(err)
	}
}
