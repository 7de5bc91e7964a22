package v1alpha1_test

import (
	"testing"
)

func TestFooEnv(t *testing.T) {
	t.Parallel()
	const source = "valueFrom needs exactly one of configMapKeyRef, secretKeyRef, fieldRef and resourceFieldRef"
	const field = "fieldPath must be one of metadata.name, metadata.namespace"
	testCreate(t, smallFoo, map[string]admission{
		"no value":  {reason: "it is the empty text", patch: `spec: {env: [{name: A}]}`},
		"odd name":  {reason: "Kubernetes allows these characters", patch: `spec: {env: [{name: _a.B-1, value: x}]}`},
		"twice":     {reason: "one of them would be lost", patch: `spec: {env: [{name: A, value: x}, {name: A, value: z}]}`, want: "spec.env[1]: Duplicate value"},
		"no name":   {reason: "it needs one", patch: `spec: {env: [{value: x}]}`, want: "spec.env[0].name: Required value"},
		"empty":     {reason: "it needs a name", patch: `spec: {env: [{name: "", value: x}]}`, want: "an environment variable's name must consist of letters"},
		"digit":     {reason: "no shell takes it", patch: `spec: {env: [{name: 1A, value: x}]}`, want: "must not begin with a digit, such as LOG_LEVEL"},
		"equals":    {reason: "the name would end there", patch: `spec: {env: [{name: A=B}]}`, want: "an environment variable's name must consist of letters"},
		"number":    {reason: "values are text", patch: `spec: {env: [{name: A, value: 1}]}`, want: "spec.env[0].value in body must be of type string"},
		"both":      {reason: "which one is meant cannot be told", patch: `spec: {env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}`, want: "set either value or valueFrom, not both"},
		"no source": {reason: "there is no value", patch: `spec: {env: [{name: A, valueFrom: {}}]}`, want: source},
		"two sources": {
			reason: "which one is meant cannot be told",
			patch:  `spec: {env: [{name: A, valueFrom: {configMapKeyRef: {name: a, key: b}, secretKeyRef: {name: a, key: b}}}]}`,
			want:   source,
		},
		"secret of another namespace": {
			reason: "no field of a Foo names another namespace",
			patch:  `spec: {env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b, namespace: team-b}}}]}`,
			want:   `unknown field "spec.env[0].valueFrom.secretKeyRef.namespace"`,
		},
		"no key": {
			reason: "a variable is one key's value",
			patch:  `spec: {env: [{name: A, valueFrom: {secretKeyRef: {name: a}}}]}`,
			want:   "spec.env[0].valueFrom.secretKeyRef.key: Required value",
		},
		"label":       {reason: "one label of the Pod", patch: `spec: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}]}`},
		"annotation":  {reason: "one annotation of the Pod", patch: `spec: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['a.example/b']"}}}]}`},
		"all labels":  {reason: "a variable holds one value", patch: `spec: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]}`, want: field},
		"empty label": {reason: "there is no such label", patch: `spec: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.labels['']"}}}]}`, want: field},
		"other field": {reason: "Kubernetes offers a few fields only", patch: `spec: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.hostname}}}]}`, want: field},
		"half exponent in a divisor": {
			reason: "Go's parser of quantities does not know it, and no client could read the Foo",
			patch:  `spec: {env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "1e.5"}}}]}`,
			want:   "divisor in body should match",
		},
		"other resource": {
			reason: "Kubernetes offers a few resources only",
			patch:  `spec: {env: [{name: A, valueFrom: {resourceFieldRef: {resource: cpu}}}]}`,
			want:   `supported values: "limits.cpu", "limits.memory"`,
		},
	})
}

func TestFooEnvFrom(t *testing.T) {
	t.Parallel()
	const one = "an envFrom entry needs exactly one of configMapRef and secretRef"
	testCreate(t, smallFoo, map[string]admission{
		"none":       {reason: "there is nothing to take", patch: `spec: {envFrom: [{prefix: A_}]}`, want: one},
		"both":       {reason: "which one is meant cannot be told", patch: `spec: {envFrom: [{configMapRef: {name: a}, secretRef: {name: a}}]}`, want: one},
		"prefix":     {reason: "no name of a variable can begin so", patch: `spec: {envFrom: [{prefix: 1A_, secretRef: {name: a}}]}`, want: "must not begin with a digit, such as DB_"},
		"no name":    {reason: "there is nothing to look for", patch: `spec: {envFrom: [{secretRef: {name: ""}}]}`, want: "spec.envFrom[0].secretRef.name"},
		"no prefix":  {reason: "the keys as they are", patch: `spec: {envFrom: [{prefix: "", secretRef: {name: a}}]}`},
		"same twice": {reason: "with different prefixes it makes sense", patch: `spec: {envFrom: [{secretRef: {name: a}}, {prefix: B_, secretRef: {name: a}}]}`},
	})
}

func TestFooPorts(t *testing.T) {
	t.Parallel()
	const name = "a port's name must be at most 15 lower-case letters, digits and single '-', with at least one letter, such as http"
	testCreate(t, smallFoo, map[string]admission{
		"no name":          {reason: "names are optional", patch: `spec: {ports: [{containerPort: 80}, {containerPort: 81}]}`},
		"TCP and UDP":      {reason: "two ports of one number", patch: `spec: {ports: [{containerPort: 53}, {containerPort: 53, protocol: UDP}]}`},
		"port 0":           {reason: "there is no port 0", patch: `spec: {ports: [{containerPort: 0}]}`, want: "spec.ports[0].containerPort in body should be greater than or equal to 1"},
		"port 65536":       {reason: "ports have 16 bits", patch: `spec: {ports: [{containerPort: 65536}]}`, want: "spec.ports[0].containerPort in body should be less than or equal to 65535"},
		"same number":      {reason: "one of them is too many", patch: `spec: {ports: [{containerPort: 80}, {containerPort: 80, name: a}]}`, want: "spec.ports[1]: Duplicate value"},
		"same name":        {reason: "which one is meant cannot be told", patch: `spec: {ports: [{name: a, containerPort: 80}, {name: a, containerPort: 81}]}`, want: "port names must be unique: give each port a name of its own"},
		"upper case":       {reason: "Kubernetes refuses it", patch: `spec: {ports: [{name: HTTP, containerPort: 80}]}`, want: name},
		"no letter":        {reason: "it would be taken for a number", patch: `spec: {ports: [{name: "80", containerPort: 80}]}`, want: name},
		"two hyphens":      {reason: "Kubernetes refuses it", patch: `spec: {ports: [{name: a--b, containerPort: 80}]}`, want: name},
		"long name":        {reason: "Kubernetes refuses it", patch: `spec: {ports: [{name: abcdefghijklmnop, containerPort: 80}]}`, want: "spec.ports[0].name: Too long: may not be more than 15"},
		"unknown protocol": {reason: "Kubernetes knows three", patch: `spec: {ports: [{containerPort: 80, protocol: HTTP}]}`, want: `supported values: "TCP", "UDP", "SCTP"`},
		"host port":        {reason: "it is not restricted, and takes a node's port", patch: `spec: {ports: [{containerPort: 80, hostPort: 80}]}`, want: `unknown field "spec.ports[0].hostPort"`},
	})
}

func TestFooResources(t *testing.T) {
	t.Parallel()
	const more = "a request must not be more than the limit of the same resource: lower requests or raise limits"
	testCreate(t, smallFoo, map[string]admission{
		"requests alone":    {reason: "limits are optional", patch: `spec: {resources: {requests: {cpu: 100m}}}`},
		"equal":             {reason: "in other words", patch: `spec: {resources: {requests: {cpu: 1}, limits: {cpu: 1000m}}}`},
		"other unit":        {reason: "1Gi is more than 1000Mi", patch: `spec: {resources: {requests: {memory: 1000Mi}, limits: {memory: 1Gi}}}`},
		"extended":          {reason: "other resources too", patch: `spec: {resources: {requests: {example.com/gpu: 1}, limits: {example.com/gpu: 1}}}`},
		"CPU":               {reason: "the Pod would be refused", patch: `spec: {resources: {requests: {cpu: 1100m}, limits: {cpu: 1}}}`, want: more},
		"memory":            {reason: "the Pod would be refused", patch: `spec: {resources: {requests: {memory: 1Gi}, limits: {memory: 1G}}}`, want: more},
		"over extended":     {reason: "the Pod would be refused", patch: `spec: {resources: {requests: {example.com/gpu: 2}, limits: {example.com/gpu: 1}}}`, want: more},
		"negative request":  {reason: "there is no less than nothing", patch: `spec: {resources: {requests: {cpu: -100m}}}`, want: "requests must not be negative: write amounts such as cpu: 100m"},
		"negative number":   {reason: "there is no less than nothing", patch: `spec: {resources: {requests: {cpu: -1}}}`, want: "requests must not be negative: write amounts such as cpu: 100m"},
		"negative limit":    {reason: "there is no less than nothing", patch: `spec: {resources: {limits: {memory: -1Gi}}}`, want: "limits must not be negative: write amounts such as cpu: 500m"},
		"negative number 2": {reason: "there is no less than nothing", patch: `spec: {resources: {limits: {memory: -1}}}`, want: "limits must not be negative: write amounts such as cpu: 500m"},
		"no amount":         {reason: "there is no such unit", patch: `spec: {resources: {limits: {memory: 1GB}}}`, want: "limits must be amounts such as cpu: 500m and memory: 128Mi; the units are m, k, M"},
		"no amount 2":       {reason: "it is a text", patch: `spec: {resources: {requests: {cpu: lots}}}`, want: "requests must be amounts such as cpu: 100m and memory: 64Mi; the units are m, k, M"},
		"too many":          {reason: "maps are bounded", patch: `spec: {resources: {limits: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1}}}`, want: "spec.resources.limits: Too many: 7: must have at most 6 items"},
	})
}

func TestFooProbes(t *testing.T) {
	t.Parallel()
	const one = "a probe needs exactly one of httpGet, tcpSocket, grpc and exec"
	const port = "port must be a number from 1 to 65535 or the name of one of spec.ports"
	testCreate(t, smallFoo, map[string]admission{
		"number":            {reason: "a port need not be in spec.ports", patch: `spec: {probes: {readiness: {httpGet: {port: 80}}}}`},
		"gRPC":              {reason: "the fourth way", patch: `spec: {probes: {readiness: {grpc: {port: 80, service: web}}}}`},
		"no handler":        {reason: "there is nothing to do", patch: `spec: {probes: {readiness: {periodSeconds: 1}}}`, want: one},
		"two handlers":      {reason: "which one is meant cannot be told", patch: `spec: {probes: {startup: {httpGet: {port: 80}, tcpSocket: {port: 80}}}}`, want: one},
		"port 0":            {reason: "there is no port 0", patch: `spec: {probes: {readiness: {httpGet: {port: 0}}}}`, want: port},
		"port 65536":        {reason: "ports have 16 bits", patch: `spec: {probes: {readiness: {tcpSocket: {port: 65536}}}}`, want: port},
		"empty port":        {reason: "it has no name", patch: `spec: {probes: {readiness: {tcpSocket: {port: ""}}}}`, want: "spec.probes.readiness.tcpSocket.port"},
		"gRPC port 0":       {reason: "there is no port 0", patch: `spec: {probes: {readiness: {grpc: {port: 0}}}}`, want: "spec.probes.readiness.grpc.port in body should be greater than or equal to 1"},
		"no port":           {reason: "there is nowhere to ask", patch: `spec: {probes: {readiness: {httpGet: {path: /}}}}`, want: "spec.probes.readiness.httpGet.port: Required value"},
		"name, readiness":   {reason: "no port is named so", patch: `spec: {probes: {readiness: {httpGet: {port: http}}}}`, want: "the readiness probe names a port that is not in spec.ports: add a port of that name, or write the port's number"},
		"name, liveness":    {reason: "no port is named so", patch: `spec: {ports: [{name: b, containerPort: 80}], probes: {liveness: {tcpSocket: {port: a}}}}`, want: "the liveness probe names a port that is not in spec.ports"},
		"name, startup":     {reason: "no port is named so", patch: `spec: {ports: [{containerPort: 80}], probes: {startup: {tcpSocket: {port: a}}}}`, want: "the startup probe names a port that is not in spec.ports"},
		"number as text":    {reason: "text is a name", patch: `spec: {ports: [{containerPort: 80}], probes: {startup: {httpGet: {port: "80"}}}}`, want: "the startup probe names a port that is not in spec.ports"},
		"liveness success":  {reason: "Kubernetes refuses it", patch: `spec: {probes: {liveness: {tcpSocket: {port: 80}, successThreshold: 2}}}`, want: "successThreshold of a liveness probe must be 1: leave it out"},
		"startup success":   {reason: "Kubernetes refuses it", patch: `spec: {probes: {startup: {tcpSocket: {port: 80}, successThreshold: 2}}}`, want: "successThreshold of a startup probe must be 1: leave it out"},
		"negative delay":    {reason: "time goes one way", patch: `spec: {probes: {liveness: {tcpSocket: {port: 80}, initialDelaySeconds: -1}}}`, want: "initialDelaySeconds in body should be greater than or equal to 0"},
		"period 0":          {reason: "it would never rest", patch: `spec: {probes: {liveness: {tcpSocket: {port: 80}, periodSeconds: 0}}}`, want: "periodSeconds in body should be greater than or equal to 1"},
		"timeout 0":         {reason: "no answer is that fast", patch: `spec: {probes: {liveness: {tcpSocket: {port: 80}, timeoutSeconds: 0}}}`, want: "timeoutSeconds in body should be greater than or equal to 1"},
		"failures 0":        {reason: "it would fail from the start", patch: `spec: {probes: {liveness: {tcpSocket: {port: 80}, failureThreshold: 0}}}`, want: "failureThreshold in body should be greater than or equal to 1"},
		"path":              {reason: "no request can be made of it", patch: `spec: {probes: {readiness: {httpGet: {port: 80, path: healthz}}}}`, want: "path must begin with '/', such as /healthz"},
		"scheme":            {reason: "there are two", patch: `spec: {probes: {readiness: {httpGet: {port: 80, scheme: https}}}}`, want: `supported values: "HTTP", "HTTPS"`},
		"header":            {reason: "no request can be made of it", patch: `spec: {probes: {readiness: {httpGet: {port: 80, httpHeaders: [{name: "X Probe", value: a}]}}}}`, want: "a header's name must consist of letters, digits and '-', such as X-Probe"},
		"host":              {reason: "the node would ask other hosts for the tenant", patch: `spec: {probes: {readiness: {httpGet: {port: 80, host: 169.254.169.254}}}}`, want: `unknown field "spec.probes.readiness.httpGet.host"`},
		"no command to run": {reason: "there is nothing to do", patch: `spec: {probes: {readiness: {exec: {command: []}}}}`, want: "spec.probes.readiness.exec.command"},
	})
}
