package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// readBothWays reads an archive as older versions of Docker do, by manifest.json, and as containerd does, by index.json.
func readBothWays(t *testing.T, archive, reference string) v1.Image {
	t.Helper()
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	legacy, err := tarball.ImageFromPath(archive, &tag)
	if err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(unpack(t, archive))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["io.containerd.image.name"] != reference {
		t.Fatalf("the index has %+v, want one image named %s", manifest.Manifests, reference)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	platform := manifest.Manifests[0].Platform
	if platform == nil || platform.OS != config.OS || platform.Architecture != config.Architecture {
		t.Errorf("the index says %v, the image is for %s/%s", platform, config.OS, config.Architecture)
	}
	// The two have different manifests of the same image: an image's ID is the digest of its configuration.
	oldID, err := legacy.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if newID, err := img.ConfigName(); err != nil || newID != oldID {
		t.Errorf("manifest.json names the image %s, index.json %s, %v", oldID, newID, err)
	}
	return img
}

// unpack unpacks an archive into a folder.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	file, err := os.Open(archive) //nolint:gosec // G304: the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	for r := tar.NewReader(file); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean("/"+header.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// files returns all files of an image by name.
func files(t *testing.T, img v1.Image) map[string]*file {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*file{}
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		r := tar.NewReader(content)
		header, err := r.Next()
		for ; err == nil; header, err = r.Next() {
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			found[header.Name] = &file{header, data}
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	return found
}

type file struct {
	*tar.Header

	content []byte
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
