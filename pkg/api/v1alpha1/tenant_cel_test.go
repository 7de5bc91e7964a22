package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"
)

const validTenant = `
kind: Tenant
metadata: {name: valid}
spec:
  namespaces: [team-a, team-a-test]
  allowedBarClasses: [internal]
  maxBars: 10
  weight: 2
`

func TestTenant(t *testing.T) {
	t.Parallel()
	const name = "each of namespaces must be the name of a namespace: lower-case letters, digits and '-'"
	const system = "namespaces that begin with kube- (kube-system, kube-public, kube-node-lease) belong to Kubernetes: name the tenant's own namespaces"
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf("team-%d", i))
	}
	testCreate(t, validTenant, map[string]admission{
		"valid":           {reason: "all fields in use", patch: `{}`},
		"least":           {reason: "all but the namespaces is optional", patch: `spec: {allowedBarClasses: null, maxBars: null, weight: null}`},
		"no Bars":         {reason: "0 forbids them", patch: `spec: {maxBars: 0}`},
		"leaving":         {reason: "the first step of off-boarding", patch: `spec: {leaving: true}`},
		"64 namespaces":   {reason: "the bound itself", patch: `spec: {namespaces: [` + strings.Join(many[:64], ",") + `]}`},
		"long name":       {reason: "it is in labels", patch: `metadata: {name: ` + strings.Repeat("x", 64) + `}`, want: "metadata.name must be a DNS label"},
		"unknown field":   {reason: "strict", patch: `spec: {namespace: team-a}`, want: `unknown field "spec.namespace"`},
		"no namespaces":   {reason: "there is nothing to serve", patch: `spec: {namespaces: null}`, want: "spec.namespaces: Required value"},
		"none":            {reason: "there is nothing to serve", patch: `spec: {namespaces: []}`, want: "spec.namespaces"},
		"65 namespaces":   {reason: "lists are bounded", patch: `spec: {namespaces: [` + strings.Join(many, ",") + `]}`, want: "spec.namespaces: Too many: 65: must have at most 64 items"},
		"twice":           {reason: "the list is a set", patch: `spec: {namespaces: [a, a]}`, want: "spec.namespaces[1]: Duplicate value"},
		"all":             {reason: "there is no such wildcard", patch: `spec: {namespaces: ["*"]}`, want: name},
		"empty":           {reason: "it would mean all namespaces", patch: `spec: {namespaces: [""]}`, want: name},
		"dots":            {reason: "no namespace has this name", patch: `spec: {namespaces: [a, b.c]}`, want: "spec.namespaces[1]"},
		"long namespace":  {reason: "no namespace has this name", patch: `spec: {namespaces: [` + strings.Repeat("x", 64) + `]}`, want: "spec.namespaces[0]: Too long: may not be more than 63"},
		"kube-system":     {reason: "it is the cluster's heart", patch: `spec: {namespaces: [team-a, kube-system]}`, want: system},
		"kube-public":     {reason: "it is Kubernetes'", patch: `spec: {namespaces: [kube-public]}`, want: system},
		"kube-node-lease": {reason: "it is Kubernetes'", patch: `spec: {namespaces: [kube-node-lease]}`, want: system},
		"any class":       {reason: "there is no such wildcard", patch: `spec: {allowedBarClasses: ["*"]}`, want: "each of allowedBarClasses must be the name of a BarClass"},
		"class twice":     {reason: "the list is a set", patch: `spec: {allowedBarClasses: [a, a]}`, want: "spec.allowedBarClasses[1]: Duplicate value"},
		"negative limit":  {reason: "there are no fewer than none", patch: `spec: {maxBars: -1}`, want: "spec.maxBars in body should be greater than or equal to 0"},
		"weight 0":        {reason: "it would never be served", patch: `spec: {weight: 0}`, want: "spec.weight in body should be greater than or equal to 1"},
		"weight 101":      {reason: "more than enough", patch: `spec: {weight: 101}`, want: "spec.weight in body should be less than or equal to 100"},
	})
}

func TestTenantStatus(t *testing.T) {
	t.Parallel()
	testUpdate(t, strings.ReplaceAll(validTenant, "name: valid", "name: status"), "status", map[string]admission{
		"engaged": {
			reason: "all fields in use",
			patch:  `status: {observedGeneration: 1, namespaces: [{name: team-a, state: Refused, reason: AccessDenied, message: no RoleBinding, since: "2030-01-01T00:00:00Z"}]}`,
		},
		"state": {
			reason: "there are three",
			patch:  `status: {namespaces: [{name: team-a, state: Ready}]}`,
			want:   `supported values: "Engaged", "Pending", "Refused"`,
		},
		"twice": {
			reason: "a namespace has one state",
			patch:  `status: {namespaces: [{name: team-a, state: Engaged}, {name: team-a, state: Refused}]}`,
			want:   "status.namespaces[1]: Duplicate value",
		},
	})
}
