package v1alpha1_test

import (
	"strings"
	"testing"
)

// validFoo uses every part of the spec that does not exclude another; autoscaling and the sources of values have cases of their own.
const validFoo = `
kind: Foo
metadata: {name: valid}
spec:
  image: registry.example/shop/web:1.4.2
  imagePullPolicy: IfNotPresent
  imagePullSecrets: [{name: registry}]
  command: [/web]
  args: [--listen, ":8080"]
  env:
  - {name: LOG_LEVEL, value: info}
  - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  - {name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
  - {name: MODE, valueFrom: {configMapKeyRef: {name: settings, key: mode, optional: true}}}
  - {name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}
  envFrom:
  - {prefix: DB_, secretRef: {name: db}}
  - {configMapRef: {name: settings, optional: true}}
  ports:
  - {name: http, containerPort: 8080}
  - {name: metrics, containerPort: 9090, protocol: TCP}
  - {name: quic, containerPort: 8080, protocol: UDP}
  resources:
    requests: {cpu: 100m, memory: 64Mi}
    limits: {cpu: "1", memory: 128Mi}
  probes:
    readiness: {httpGet: {path: /readyz, port: http, httpHeaders: [{name: X-Probe, value: readiness}]}, successThreshold: 2}
    liveness: {tcpSocket: {port: 8080}, initialDelaySeconds: 5}
    startup: {exec: {command: [/web, --check]}, failureThreshold: 30}
  volumes:
  - {name: config, configMap: {name: settings, items: [{key: app.yaml, path: app/config.yaml, mode: 256}], defaultMode: 420}}
  - {name: db, secret: {secretName: db, optional: true}}
  - {name: tmp, emptyDir: {sizeLimit: 1Gi}}
  - {name: data, persistentVolumeClaim: {claimName: data, readOnly: true}}
  - name: all
    projected:
      sources:
      - configMap: {name: settings}
      - secret: {name: db, items: [{key: password, path: password}]}
      - downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}
      - serviceAccountToken: {path: token, audience: vault, expirationSeconds: 3600}
  volumeMounts:
  - {name: config, mountPath: /etc/web, readOnly: true}
  - {name: tmp, mountPath: /tmp}
  - {name: data, mountPath: /data, subPath: web/files}
  serviceAccountName: web
  replicas: 3
  bar: {className: internal, port: http}
  progressDeadlineSeconds: 300
`

// smallFoo has only what is needed.
const smallFoo = `
kind: Foo
metadata: {name: small}
spec: {image: registry.example/web}
`

func TestFooMetadata(t *testing.T) {
	t.Parallel()
	testCreate(t, smallFoo, map[string]admission{
		"name of 63 characters": {
			reason: "a label's value may have 63",
			patch:  `metadata: {name: ` + strings.Repeat("x", 63) + `}`,
		},
		"name of 64 characters": {
			reason: "a label's value may have 63",
			patch:  `metadata: {name: ` + strings.Repeat("x", 64) + `}`,
			want:   "metadata.name must be a DNS label, since it becomes a label of the Pods: at most 63",
		},
		"name with a dot": {
			reason: "a dot is allowed in names of objects, but not in a DNS label",
			patch:  `metadata: {name: web.v1}`,
			want:   "metadata.name must be a DNS label",
		},
	})
}

func TestFooSpec(t *testing.T) {
	t.Parallel()
	testCreate(t, validFoo, map[string]admission{
		"valid": {reason: "all fields in use", patch: `{}`},
		"no spec": {
			reason: "there is nothing to run",
			patch:  `spec: null`,
			want:   "spec: Required value",
		},
		"unknown field": {
			reason: "a typing error must not pass unseen",
			patch:  `spec: {imagePullSecret: x}`,
			want:   `unknown field "spec.imagePullSecret"`,
		},
		"namespace of a bar": {
			reason: "no field of a Foo names another namespace",
			patch:  `spec: {bar: {namespace: team-b}}`,
			want:   `unknown field "spec.bar.namespace"`,
		},
		"no image": {
			reason: "there is nothing to run",
			patch:  `spec: {image: null}`,
			want:   "spec.image: Required value",
		},
		"empty image": {
			reason: "there is nothing to run",
			patch:  `spec: {image: ""}`,
			want:   "image must name a container image without white space, such as registry.example/shop/web:1.4.2",
		},
		"image with a space": {
			reason: "no registry takes it",
			patch:  `spec: {image: "web 1.0"}`,
			want:   "image must name a container image without white space",
		},
		"image with a line end": {
			reason: "it comes from a file read whole, and no registry takes it",
			patch:  `spec: {image: "web:1.0\n"}`,
			want:   "image must name a container image without white space",
		},
		"image by digest": {
			reason: "the way to pin one",
			patch:  `spec: {image: registry.example:5000/web@sha256:` + strings.Repeat("a", 64) + `}`,
		},
		"image too long": {
			reason: "the bound keeps the rules' cost down",
			patch:  `spec: {image: ` + strings.Repeat("x", 1025) + `}`,
			want:   "spec.image: Too long: may not be more than 1024",
		},
		"unknown pull policy": {
			reason: "Kubernetes knows three",
			patch:  `spec: {imagePullPolicy: Sometimes}`,
			want:   `spec.imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`,
		},
		"pull secret twice": {
			reason: "the list is a map by name",
			patch:  `spec: {imagePullSecrets: [{name: a}, {name: a}]}`,
			want:   "spec.imagePullSecrets[1]: Duplicate value",
		},
		"pull secret without a name": {
			reason: "there is nothing to look for",
			patch:  `spec: {imagePullSecrets: [{name: ""}]}`,
			want:   "spec.imagePullSecrets[0].name",
		},
		"pull secret of another namespace": {
			reason: "no field of a Foo names another namespace",
			patch:  `spec: {imagePullSecrets: [{name: a, namespace: team-b}]}`,
			want:   `unknown field "spec.imagePullSecrets[0].namespace"`,
		},
		"ServiceAccount name": {
			reason: "no ServiceAccount can have this name",
			patch:  `spec: {serviceAccountName: Web_1}`,
			want:   "serviceAccountName must be the name of a ServiceAccount of this namespace",
		},
		"ServiceAccount of another namespace": {
			reason: "no field of a Foo names another namespace",
			patch:  `spec: {serviceAccountName: team-b/web}`,
			want:   "serviceAccountName must be the name of a ServiceAccount of this namespace",
		},
		"progress deadline of 0": {
			reason: "every rollout would fail",
			patch:  `spec: {progressDeadlineSeconds: 0}`,
			want:   "spec.progressDeadlineSeconds in body should be greater than or equal to 1",
		},
		"too many arguments": {
			reason: "lists are bounded",
			patch:  `spec: {args: [` + strings.Repeat("x,", 256) + `x]}`,
			want:   "spec.args: Too many: 257: must have at most 256 items",
		},
	})
}

func TestFooReplicas(t *testing.T) {
	t.Parallel()
	const exclusive = "replicas and autoscaling exclude each other: with autoscaling leave replicas out"
	testCreate(t, smallFoo, map[string]admission{
		"none":     {reason: "0 stops a Foo", patch: `spec: {replicas: 0}`},
		"most":     {reason: "the bound itself", patch: `spec: {replicas: 10000}`},
		"negative": {reason: "there are no fewer than none", patch: `spec: {replicas: -1}`, want: "spec.replicas in body should be greater than or equal to 0"},
		"huge":     {reason: "most likely a slip", patch: `spec: {replicas: 10001}`, want: "spec.replicas in body should be less than or equal to 10000"},
		"text":     {reason: "it is a number", patch: `spec: {replicas: "2"}`, want: "must be of type integer"},
		"autoscaling alone": {
			reason: "replicas is 1 by default, which counts as left out",
			patch:  `spec: {autoscaling: {maxReplicas: 3}, resources: {requests: {cpu: 100m}}}`,
		},
		"autoscaling and replicas": {
			reason: "two would set the number",
			patch:  `spec: {replicas: 3, autoscaling: {maxReplicas: 3}, resources: {requests: {cpu: 100m}}}`,
			want:   exclusive,
		},
		"autoscaling and no replicas": {
			reason: "an autoscaler does nothing at 0",
			patch:  `spec: {replicas: 0, autoscaling: {maxReplicas: 3}, resources: {requests: {cpu: 100m}}}`,
			want:   exclusive,
		},
	})
}

func TestFooAutoscaling(t *testing.T) {
	t.Parallel()
	const needsRequest = "autoscaling follows CPU use as a part of the CPU request, so it needs resources.requests.cpu, such as 100m"
	const valid = smallFoo + `
  autoscaling: {minReplicas: 2, maxReplicas: 4, targetCPUUtilizationPercentage: 50}
  resources: {requests: {cpu: 100m}}
`
	testCreate(t, strings.ReplaceAll(valid, "spec: {image: registry.example/web}", "spec:\n  image: registry.example/web"), map[string]admission{
		"valid":        {reason: "all fields in use", patch: `{}`},
		"min is max":   {reason: "allowed, if of little use", patch: `spec: {autoscaling: {minReplicas: 4}}`},
		"no max":       {reason: "there is no default for it", patch: `spec: {autoscaling: {maxReplicas: null}}`, want: "spec.autoscaling.maxReplicas: Required value"},
		"max below 1":  {reason: "the default of min is 1", patch: `spec: {autoscaling: {minReplicas: null, maxReplicas: 0}}`, want: "spec.autoscaling.maxReplicas in body should be greater than or equal to 1"},
		"min 0":        {reason: "CPU use of no Pod is unknown", patch: `spec: {autoscaling: {minReplicas: 0}}`, want: "spec.autoscaling.minReplicas in body should be greater than or equal to 1"},
		"min over max": {reason: "no number is in between", patch: `spec: {autoscaling: {minReplicas: 5}}`, want: "maxReplicas must be minReplicas or more (minReplicas is 1 when left out)"},
		"huge":         {reason: "most likely a slip", patch: `spec: {autoscaling: {maxReplicas: 10001}}`, want: "spec.autoscaling.maxReplicas in body should be less than or equal to 10000"},
		"target 0":     {reason: "every load is above it", patch: `spec: {autoscaling: {targetCPUUtilizationPercentage: 0}}`, want: "targetCPUUtilizationPercentage in body should be greater than or equal to 1"},
		"target 101":   {reason: "more than the request is not to be relied upon", patch: `spec: {autoscaling: {targetCPUUtilizationPercentage: 101}}`, want: "targetCPUUtilizationPercentage in body should be less than or equal to 100"},
		"no resources": {reason: "a HorizontalPodAutoscaler would never act", patch: `spec: {resources: null}`, want: needsRequest},
		"other request": {
			reason: "it is the CPU request that counts",
			patch:  `spec: {resources: {requests: {cpu: null, memory: 64Mi}}}`,
			want:   needsRequest,
		},
		"CPU request of 0": {
			reason: "no part of 0 can be told",
			patch:  `spec: {resources: {requests: {cpu: 0}}}`,
			want:   needsRequest,
		},
		"CPU limit alone": {
			reason: "Kubernetes takes a limit as the request where there is none",
			patch:  `spec: {resources: {requests: null, limits: {cpu: 200m}}}`,
		},
		"CPU limit and a request of 0": {
			reason: "a request that is there is not replaced",
			patch:  `spec: {resources: {requests: {cpu: 0}, limits: {cpu: 200m}}}`,
			want:   needsRequest,
		},
	})
}

func TestFooBar(t *testing.T) {
	t.Parallel()
	testCreate(t, validFoo, map[string]admission{
		"port by number": {reason: "either will do", patch: `spec: {bar: {port: 9090}}`},
		"port left out, one port": {
			reason: "there is no doubt",
			patch:  `spec: {bar: {port: null}, ports: [{name: http, containerPort: 8080}]}`,
		},
		"port left out, three ports": {
			reason: "which one is meant cannot be told",
			patch:  `spec: {bar: {port: null}}`,
			want:   "spec.ports has more than one port: set bar.port",
		},
		"no ports": {
			reason: "there is nowhere to send traffic to",
			patch:  `spec: {bar: {port: null}, probes: null, ports: null}`,
			want:   "a bar needs a port to send traffic to: add one to spec.ports",
		},
		"empty ports": {
			reason: "there is nowhere to send traffic to",
			patch:  `spec: {bar: {port: null}, probes: null, ports: []}`,
			want:   "a bar needs a port to send traffic to: add one to spec.ports",
		},
		"unknown port name": {
			reason: "a typing error",
			patch:  `spec: {bar: {port: htp}}`,
			want:   "bar.port must be the name or the containerPort of one of spec.ports",
		},
		"unknown port number": {
			reason: "a typing error",
			patch:  `spec: {bar: {port: 8081}}`,
			want:   "bar.port must be the name or the containerPort of one of spec.ports",
		},
		"port number as text": {
			reason: "text is a name, and no port is named so",
			patch:  `spec: {bar: {port: "8080"}}`,
			want:   "bar.port must be the name or the containerPort of one of spec.ports",
		},
		"port 0": {
			reason: "there is no port 0",
			patch:  `spec: {bar: {port: 0}}`,
			want:   "bar.port must be a port's name (at most 15 characters) or a number from 1 to 65535",
		},
		"no class": {
			reason: "there is no default class",
			patch:  `spec: {bar: {className: null}}`,
			want:   "spec.bar.className: Required value",
		},
		"class that no BarClass can have": {
			reason: "a typing error",
			patch:  `spec: {bar: {className: Internal}}`,
			want:   "className must be the name of a BarClass, such as internal",
		},
	})
}
