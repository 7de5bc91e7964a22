package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is nobody in particular, and not root: the number that distroless images call nonroot.
const user = "65532:65532"

var architectures = map[elf.Machine]string{
	elf.EM_X86_64:  "amd64",
	elf.EM_AARCH64: "arm64",
	elf.EM_PPC64:   "ppc64le",
	elf.EM_S390:    "s390x",
	elf.EM_RISCV:   "riscv64",
}

// labels are those of the Dockerfile.
func labels(version, revision string) map[string]string {
	const prefix = "org.opencontainers.image."
	all := map[string]string{
		prefix + "title":       "controlee",
		prefix + "description": "A multi-tenant Kubernetes operator with strict RBAC",
		prefix + "source":      "https://github.com/controlee/controlee",
		prefix + "licenses":    "Apache-2.0",
	}
	if version != "" {
		all[prefix+"version"] = version
	}
	if revision != "" {
		all[prefix+"revision"] = revision
	}
	return all
}

// packImage makes an image of one layer with one file, the program, which it starts as a user other than root.
// There is no shell in it and there are no CA certificates: a Pod's are mounted with its token.
func packImage(program string, labels map[string]string, created time.Time) (v1.Image, error) {
	architecture, err := architectureOf(program)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(program) //nolint:gosec // G304: the file to pack is for the caller to say
	if err != nil {
		return nil, err
	}
	entrypoint := path.Join("/", filepath.Base(program))
	layer, err := layerOf(entrypoint, content, created)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{
		Layer:     layer,
		MediaType: types.OCILayer,
		History:   v1.History{Created: v1.Time{Time: created}, CreatedBy: "COPY " + entrypoint},
	})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS = "linux"
	config.Architecture = architecture
	config.Created = v1.Time{Time: created}
	config.Config = v1.Config{
		User:       user,
		WorkingDir: "/",
		Entrypoint: []string{entrypoint},
		Labels:     labels,
	}
	return mutate.ConfigFile(img, config)
}

// architectureOf reads from a program what it runs on. It refuses one that needs files which the image does not have.
func architectureOf(program string) (string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", fmt.Errorf("%s is no Linux program: %w", program, err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s is not static: the image would lack its loader and libraries; build it with CGO_ENABLED=0", program)
		}
	}
	architecture, ok := architectures[file.Machine]
	if !ok {
		return "", fmt.Errorf("%s is for %s, of which this program knows no architecture name", program, file.Machine)
	}
	return architecture, nil
}

// layerOf returns a layer with one program, which belongs to root: the user that runs it cannot change it.
func layerOf(file string, content []byte, created time.Time) (v1.Layer, error) {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: file[1:], Mode: 0o755, Size: int64(len(content)), ModTime: created}
	if err := writeFile(w, header, content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

func writeFile(w *tar.Writer, header *tar.Header, content []byte) error {
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
