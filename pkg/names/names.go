// Package names makes object names that are derived from other names.
package names

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
)

const (
	// maxLength is the most characters of a DNS label, and so of the name of a Service or a Bar.
	maxLength = 63
	// hashLength is the number of base-32 digits of the hash in a name. 80 bits: tenants choose the names, and nobody shall find a name whose hash is
	// that of another tenant's.
	hashLength = 16
	// maxReadable is what is left for people.
	maxReadable = maxLength - hashLength - 1
)

// Derive gives a DNS label that begins with as much of readable, a name of an object, as fits, and ends with a hash of all parts.
//
// The same parts always give the same name, and other parts another one: parts are hashed with their lengths, so that
// "a-b" and "c" differ from "a" and "b-c". readable is for people alone: it decides nothing that parts do not.
func Derive(readable string, parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	hash := strings.ToLower(base32.HexEncoding.EncodeToString(sum.Sum(nil)))[:hashLength]

	readable = strings.ReplaceAll(readable, ".", "-")
	if readable == "" || readable[0] < 'a' || readable[0] > 'z' {
		readable = "x" + readable // the name of a Service begins with a letter
	}
	return strings.TrimRight(readable[:min(len(readable), maxReadable)], "-") + "-" + hash
}
