package v1alpha1_test

import (
	"strings"
	"testing"
)

const validBar = `
kind: Bar
metadata: {name: valid}
spec:
  sourceRef: {apiGroup: apps, kind: Deployment, namespace: team-a, name: web, uid: 5e9c26fb-2d35-4bb1-9b3d-1c1b8f8d5f0e}
  tenant: team-a
  className: internal
  ports:
  - {name: http, port: 80, targetPort: http, appProtocol: http}
  - {name: dns, port: 53, targetPort: 5353}
  - {name: dns-udp, port: 53, targetPort: 5353, protocol: UDP}
  selector: {app: web}
`

func TestBar(t *testing.T) {
	t.Parallel()
	const group = `apiGroup must be apps for a Deployment and "" for a Service`
	testCreate(t, validBar, map[string]admission{
		"valid": {reason: "all fields in use", patch: `{}`},
		"Service": {
			reason: "the core group is the default",
			patch:  `spec: {sourceRef: {kind: Service, apiGroup: null}}`,
		},
		"long name":      {reason: "names are made with at most 63", patch: `metadata: {name: ` + strings.Repeat("x", 64) + `}`, want: "metadata.name must be a DNS label"},
		"unknown field":  {reason: "strict", patch: `spec: {a: b}`, want: `unknown field "spec.a"`},
		"other kind":     {reason: "two kinds can opt in", patch: `spec: {sourceRef: {kind: StatefulSet}}`, want: `supported values: "Deployment", "Service"`},
		"no group":       {reason: "a Deployment is of apps", patch: `spec: {sourceRef: {apiGroup: null}}`, want: group},
		"wrong group":    {reason: "a Service is of the core group", patch: `spec: {sourceRef: {kind: Service}}`, want: group},
		"no UID":         {reason: "an object made again must be told apart", patch: `spec: {sourceRef: {uid: ""}}`, want: "spec.sourceRef.uid"},
		"no namespace":   {reason: "it is in another one", patch: `spec: {sourceRef: {namespace: null}}`, want: "spec.sourceRef.namespace: Required value"},
		"no source name": {reason: "it has one", patch: `spec: {sourceRef: {name: ""}}`, want: "spec.sourceRef.name"},
		"tenant":         {reason: "no Tenant can have this name", patch: `spec: {tenant: Team A}`, want: "tenant must be the name of a Tenant"},
		"class":          {reason: "no BarClass can have this name", patch: `spec: {className: ""}`, want: "className must be the name of a BarClass"},
		"no ports":       {reason: "nothing could be reached", patch: `spec: {ports: []}`, want: "spec.ports"},
		"port 0":         {reason: "there is no port 0", patch: `spec: {ports: [{port: 0}]}`, want: "spec.ports[0].port in body should be greater than or equal to 1"},
		"targetPort 0":   {reason: "there is no port 0", patch: `spec: {ports: [{port: 1, targetPort: 0}]}`, want: "targetPort must be a number from 1 to 65535 or the name of a container port"},
		"targetPort big": {reason: "ports have 16 bits", patch: `spec: {ports: [{port: 1, targetPort: 65536}]}`, want: "targetPort must be a number from 1 to 65535 or the name of a container port"},
		"port twice":     {reason: "one of them is too many", patch: `spec: {ports: [{name: a, port: 1}, {name: b, port: 1}]}`, want: "spec.ports[1]: Duplicate value"},
		"name twice":     {reason: "which one is meant cannot be told", patch: `spec: {ports: [{name: a, port: 1}, {name: a, port: 2}]}`, want: "port names must be unique"},
		"name missing":   {reason: "a Service demands it", patch: `spec: {ports: [{name: a, port: 1}, {port: 2}]}`, want: "with more than one port each needs a name, such as http"},
		"bad port name":  {reason: "a Service refuses it", patch: `spec: {ports: [{name: A, port: 1}]}`, want: "a port's name must be at most 63 lower-case letters"},
		"protocol":       {reason: "there are three", patch: `spec: {ports: [{port: 1, protocol: tcp}]}`, want: `supported values: "TCP", "UDP", "SCTP"`},
		"selector":       {reason: "no label has such a value", patch: `spec: {selector: {app: ` + strings.Repeat("x", 64) + `}}`, want: "selector must be labels"},
	})
}

func TestBarUpdate(t *testing.T) {
	t.Parallel()
	const immutable = "sourceRef cannot be changed: release this Bar and make a new one"
	testUpdate(t, strings.ReplaceAll(validBar, "name: valid", "name: update"), "", map[string]admission{
		"class":      {reason: "a source may choose another", patch: `spec: {className: public}`},
		"tenant":     {reason: "a namespace may change hands", patch: `spec: {tenant: team-b}`},
		"ports":      {reason: "a source may change", patch: `spec: {ports: [{port: 81}]}`},
		"release":    {reason: "the source is gone", patch: `spec: {release: true}`},
		"UID":        {reason: "that is another source", patch: `spec: {sourceRef: {uid: other}}`, want: immutable},
		"source":     {reason: "that is another source", patch: `spec: {sourceRef: {name: other}}`, want: immutable},
		"namespace":  {reason: "that is another source", patch: `spec: {sourceRef: {namespace: team-b}}`, want: immutable},
		"other kind": {reason: "that is another source", patch: `spec: {sourceRef: {kind: Service, apiGroup: ""}}`, want: immutable},
	})
}

func TestBarReleaseStays(t *testing.T) {
	t.Parallel()
	const stays = "release cannot be taken back: wait until this Bar is gone, then make a new one"
	testUpdate(t, strings.ReplaceAll(validBar, "name: valid", "name: released")+"  release: true\n", "", map[string]admission{
		"kept":    {reason: "nothing changes", patch: `spec: {className: public}`},
		"false":   {reason: "it may be half gone", patch: `spec: {release: false}`, want: stays},
		"removed": {reason: "it may be half gone", patch: `spec: {release: null}`, want: stays},
	})
}

func TestBarStatus(t *testing.T) {
	t.Parallel()
	const target = `apiGroup: "", version: v1, kind: Service, namespace: team-a, name: web, className: internal, provider: Service`
	testUpdate(t, strings.ReplaceAll(validBar, "name: valid", "name: status"), "status", map[string]admission{
		"planned": {reason: "before it exists", patch: `status: {phase: Pending, targets: [{` + target + `, state: Planned}]}`},
		"applied": {reason: "it exists", patch: `status: {targets: [{` + target + `, state: Applied, uid: a, since: "2030-01-01T00:00:00Z"}]}`},
		"both classes": {
			reason: "the new object is made before the old one goes",
			patch:  `status: {targets: [{` + target + `, state: Planned}, {` + strings.ReplaceAll(target, "name: web", "name: web-2") + `, state: Deleting, uid: a}]}`,
		},
		"applied without UID": {
			reason: "it could not be deleted safely",
			patch:  `status: {targets: [{` + target + `, state: Applied}]}`,
			want:   "a target that is Applied exists, so its uid must be recorded",
		},
		"target twice": {
			reason: "an object has one state",
			patch:  `status: {targets: [{` + target + `, state: Planned}, {` + target + `, state: Deleting, uid: a}]}`,
			want:   "status.targets[1]: Duplicate value",
		},
		"target's state": {
			reason: "there are three",
			patch:  `status: {targets: [{` + target + `, state: Gone}]}`,
			want:   `supported values: "Planned", "Applied", "Deleting"`,
		},
		"address": {reason: "both types", patch: `status: {addresses: [{type: IPAddress, value: 203.0.113.7}, {type: Hostname, value: web.example.com}]}`},
		"address's type": {
			reason: "there are two",
			patch:  `status: {addresses: [{type: IP, value: 203.0.113.7}]}`,
			want:   `supported values: "IPAddress", "Hostname"`,
		},
		"phase": {reason: "there are five", patch: `status: {phase: Unknown}`, want: `supported values: "Pending", "Provisioning", "Ready", "Failed", "Releasing"`},
	})
}
