package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const root = "../.."

// makeTarget runs make as a user does, not as a part of the make that runs this test.
func makeTarget(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"-s"}, arguments...)...) //nolint:gosec // G204: the test's own
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "VERSION", "IMAGE", "OUT", "DIST", "ARCH"}, name)
	})
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("make %s: %v\n%s%s", strings.Join(arguments, " "), err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

func TestMakeImage(t *testing.T) {
	version := makeTarget(t, root, "version")
	name := "controlee-" + version + "-linux-" + runtime.GOARCH + ".tar"
	first, second := t.TempDir(), t.TempDir()
	output := makeTarget(t, root, "image", "DIST="+first, "IMAGE=registry.example/shop/controlee", "SOURCE_DATE_EPOCH=1700000000", "REVISION=abc")
	makeTarget(t, root, "image", "DIST="+second, "IMAGE=registry.example/shop/controlee", "SOURCE_DATE_EPOCH=1700000000", "REVISION=abc")

	img := readBothWays(t, filepath.Join(first, name), "registry.example/shop/controlee:"+version)
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(output, "registry.example/shop/controlee:"+version+"@"+digest.String()) {
		t.Errorf("make image printed %q, want the digest %s at its end", output, digest)
	}
	same(t, filepath.Join(first, name), filepath.Join(second, name))
	checkConfig(t, img, version)

	all := files(t, img)
	program := all["controlee"]
	if len(all) != 1 || program == nil {
		t.Fatalf("the image has %v, want one file, controlee", all)
	}
	if program.Mode != 0o755 || program.Uid != 0 || program.Gid != 0 || program.ModTime.Unix() != 1700000000 {
		t.Errorf("the program has mode %o, owner %d:%d and time %s", program.Mode, program.Uid, program.Gid, program.ModTime)
	}
	if got := versionOf(t, program.content); got != "controlee "+version {
		t.Errorf("the program in the image calls itself %q, want version %s", got, version)
	}
}

func checkConfig(t *testing.T, img v1.Image, version string) {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Created.Unix() != 1700000000 {
		t.Errorf("the image is of %s, want the time that was given", config.Created)
	}
	if config.Architecture != runtime.GOARCH || config.OS != "linux" {
		t.Errorf("the image is for %s/%s", config.OS, config.Architecture)
	}
	c := config.Config
	if c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/controlee"}) || len(c.Cmd) > 0 || c.WorkingDir != "/" {
		t.Errorf("the image runs %q %q as %q in %q", c.Entrypoint, c.Cmd, c.User, c.WorkingDir)
	}
	if got := c.Labels["org.opencontainers.image.version"]; got != version {
		t.Errorf("the label says version %q, want %q", got, version)
	}
}

func same(t *testing.T, first, second string) {
	t.Helper()
	var contents [2][]byte
	for i, path := range []string{first, second} {
		content, err := os.ReadFile(path) //nolint:gosec // G304: the test's own
		if err != nil {
			t.Fatal(err)
		}
		contents[i] = content
	}
	if !bytes.Equal(contents[0], contents[1]) {
		t.Error("two runs made different archives of the same sources")
	}
}

func versionOf(t *testing.T, program []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "controlee")
	if err := os.WriteFile(path, program, 0o700); err != nil { //nolint:gosec // G306: a program that is run
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), processTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput() //nolint:gosec // G204: just written
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}
