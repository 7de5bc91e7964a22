package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// entry is a file of an archive.
type entry struct {
	name    string
	content []byte
}

// writeArchive writes an image as Docker itself saves it since version 25: an OCI layout, which containerd and newer
// Docker versions read, with the manifest.json that older ones look for.
func writeArchive(output string, tag name.Tag, img v1.Image) (err error) {
	entries, err := archiveOf(tag, img)
	if err != nil {
		return err
	}
	// Whoever finds a file of this name finds a whole one.
	temp, err := os.CreateTemp(filepath.Dir(output), ".image-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // gone when all went well
	err = errors.Join(writeTar(temp, entries), temp.Chmod(0o644), temp.Close())
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), output)
}

func writeTar(out io.Writer, entries []entry) error {
	w := tar.NewWriter(out)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: 0o644, Size: int64(len(e.content)), ModTime: time.Unix(0, 0)}
		if err := writeFile(w, header, e.content); err != nil {
			return err
		}
	}
	return w.Close()
}

func archiveOf(tag name.Tag, img v1.Image) ([]entry, error) {
	config, err := img.RawConfigFile()
	if err != nil {
		return nil, err
	}
	configName, err := img.ConfigName()
	if err != nil {
		return nil, err
	}
	entries := []entry{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{blobName(configName), config},
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	legacy := tarball.Descriptor{Config: blobName(configName), RepoTags: []string{tag.String()}}
	for _, layer := range layers {
		blob, err := layerBlob(layer)
		if err != nil {
			return nil, err
		}
		entries = append(entries, blob)
		legacy.Layers = append(legacy.Layers, blob.name)
	}
	manifest, err := img.RawManifest()
	if err != nil {
		return nil, err
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, err
	}
	index, err := indexOf(tag, img, digest, int64(len(manifest)))
	if err != nil {
		return nil, err
	}
	legacyManifest, err := json.Marshal(tarball.Manifest{legacy})
	if err != nil {
		return nil, err
	}
	return append(entries,
		entry{blobName(digest), manifest},
		entry{"index.json", index},
		entry{"manifest.json", legacyManifest},
	), nil
}

// indexOf names the image: by these annotations ctr and Docker know what to call it.
func indexOf(tag name.Tag, img v1.Image, digest v1.Hash, size int64) ([]byte, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	return json.Marshal(v1.IndexManifest{
		SchemaVersion: 2,
		MediaType:     types.OCIImageIndex,
		Manifests: []v1.Descriptor{{
			MediaType: types.OCIManifestSchema1,
			Digest:    digest,
			Size:      size,
			Platform:  &v1.Platform{OS: config.OS, Architecture: config.Architecture},
			Annotations: map[string]string{
				"io.containerd.image.name":          tag.String(),
				"org.opencontainers.image.ref.name": tag.TagStr(),
			},
		}},
	})
}

func layerBlob(layer v1.Layer) (blob entry, err error) {
	digest, err := layer.Digest()
	if err != nil {
		return entry{}, err
	}
	reader, err := layer.Compressed()
	if err != nil {
		return entry{}, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	content, err := io.ReadAll(reader)
	return entry{blobName(digest), content}, err
}

func blobName(hash v1.Hash) string {
	return path.Join("blobs", hash.Algorithm, hash.Hex)
}
