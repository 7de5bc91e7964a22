package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tinyProgram writes a file with the headers of a program; it could not run.
func tinyProgram(t *testing.T, machine elf.Machine, segments ...elf.ProgType) string {
	t.Helper()
	const headerSize, segmentSize = 64, 56
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Ehsize: headerSize, Phoff: headerSize, Phentsize: segmentSize, Phnum: uint16(len(segments)), //nolint:gosec // G115: one or two
	}
	var file bytes.Buffer
	if err := binary.Write(&file, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	for _, segment := range segments {
		if err := binary.Write(&file, binary.LittleEndian, elf.Prog64{Type: uint32(segment)}); err != nil { //nolint:gosec // G115: of the size of one
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "tiny")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestArchitectureIsReadFromTheProgram(t *testing.T) {
	for machine, want := range map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"} {
		output := filepath.Join(t.TempDir(), "image.tar")
		program := tinyProgram(t, machine, elf.PT_LOAD)
		if err := run([]string{"--program", program, "--name", "registry.example/tiny:1", "--output", output}); err != nil {
			t.Fatal(err)
		}
		img := readBothWays(t, output, "registry.example/tiny:1")
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.OS != "linux" || config.Architecture != want {
			t.Errorf("the image of a program for %s is for %s/%s, want linux/%s", machine, config.OS, config.Architecture, want)
		}
		if len(config.Config.Entrypoint) != 1 || config.Config.Entrypoint[0] != "/tiny" {
			t.Errorf("the entrypoint is %q, want the program's name", config.Config.Entrypoint)
		}
	}
}

func TestRefusals(t *testing.T) {
	static := tinyProgram(t, elf.EM_X86_64, elf.PT_LOAD)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		program, reference string
		more               []string
		want               string
	}{
		"a program that needs a loader": {tinyProgram(t, elf.EM_X86_64, elf.PT_LOAD, elf.PT_INTERP), "registry.example/a:1", nil, "not static"},
		"an unknown machine":            {tinyProgram(t, elf.EM_SPARC), "registry.example/a:1", nil, "EM_SPARC"},
		"a script":                      {text, "registry.example/a:1", nil, "no Linux program"},
		"no such file":                  {filepath.Join(t.TempDir(), "missing"), "registry.example/a:1", nil, "no such file"},
		"a name without a tag":          {static, "registry.example/a", nil, "tag"},
		"a name without a registry":     {static, "a:1", nil, "registry"},
		"an argument too many":          {static, "registry.example/a:1", []string{"x"}, "usage"},
	} {
		output := filepath.Join(t.TempDir(), "image.tar")
		err := run(append([]string{"--program", c.program, "--name", c.reference, "--output", output}, c.more...))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want one with %q", name, err, c.want)
		}
		left, err := os.ReadDir(filepath.Dir(output))
		if err != nil || len(left) > 0 {
			t.Errorf("%s: it left %v, %v", name, left, err)
		}
	}
}
