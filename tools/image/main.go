// Command image packs a static program into an image archive that "docker load" and "ctr image import" read,
// without a container engine.
//
// The same program and flags make the same archive, byte for byte.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	program := flags.String("program", "", "the `file` to pack: a static Linux program; the image is for its architecture")
	reference := flags.String("name", "", "`registry/name:tag` that the image has once it is loaded")
	version := flags.String("version", "", "version for the labels")
	revision := flags.String("revision", "", "commit for the labels")
	created := flags.Int64("created", 0, "`seconds` since 1970 that all times in the image are set to")
	output := flags.String("output", "", "archive `file` to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *program == "" || *output == "" {
		return errors.New("usage: image --program FILE --name REGISTRY/NAME:TAG --output FILE [...]")
	}
	tag, err := name.NewTag(*reference, name.StrictValidation)
	if err != nil {
		return err
	}
	img, err := packImage(*program, labels(*version, *revision), time.Unix(*created, 0).UTC())
	if err != nil {
		return err
	}
	if err := writeArchive(*output, tag, img); err != nil {
		return err
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("%s  %s@%s\n", *output, tag, digest)
	return nil
}
