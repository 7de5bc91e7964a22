// Package tell runs a story step by step, prints and times it, and cleans up after it. It knows nothing of Kubernetes.
package tell
