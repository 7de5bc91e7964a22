// Package provider is what the Bar controller and those who make load balancers agree on. A provider lives in a folder of its own
// below this one and is pure: it says which objects a Bar needs, and judges the live ones. The Bar controller does the rest: it
// records, writes, watches and deletes. See docs/providers.md.
package provider
