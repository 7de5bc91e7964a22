package v1alpha1_test

import (
	"testing"
)

func TestFooVolumes(t *testing.T) {
	t.Parallel()
	const allowed = "a volume needs exactly one of configMap, secret, emptyDir, projected and persistentVolumeClaim; no other kind of volume is allowed"
	const name = "a volume's name must be at most 63 lower-case letters, digits and '-', such as config"
	testCreate(t, smallFoo, map[string]admission{
		"emptyDir":        {reason: "the empty source", patch: `spec: {volumes: [{name: a, emptyDir: {}}]}`},
		"emptyDir memory": {reason: "in memory", patch: `spec: {volumes: [{name: a, emptyDir: {medium: Memory, sizeLimit: 64Mi}}]}`},
		"emptyDir disk":   {reason: "the default, written out", patch: `spec: {volumes: [{name: a, emptyDir: {medium: "", sizeLimit: 0}}]}`},
		"hostPath":        {reason: "the node's files", patch: `spec: {volumes: [{name: a, hostPath: {path: /}}]}`, want: allowed},
		"nfs":             {reason: "not restricted", patch: `spec: {volumes: [{name: a, nfs: {server: a, path: /}}]}`, want: allowed},
		"csi":             {reason: "a driver may do anything", patch: `spec: {volumes: [{name: a, csi: {driver: a}}]}`, want: allowed},
		"wrong case":      {reason: "a typing error", patch: `spec: {volumes: [{name: a, configmap: {name: a}}]}`, want: allowed},
		"nothing":         {reason: "there is nothing to mount", patch: `spec: {volumes: [{name: a}]}`, want: allowed},
		"hidden hostPath": {reason: "it would be kept and not be used", patch: `spec: {volumes: [{name: a, emptyDir: {}, hostPath: {path: /}}]}`, want: "spec.volumes[0]: Too many: 3: must have at most 2 items"},
		"two":             {reason: "which one is meant cannot be told", patch: `spec: {volumes: [{name: a, emptyDir: {}, secret: {secretName: a}}]}`, want: "spec.volumes[0]: Too many: 3: must have at most 2 items"},
		"unknown within":  {reason: "a typing error below a known kind", patch: `spec: {volumes: [{name: a, secret: {secretName: a, namespace: team-b}}]}`, want: `unknown field "spec.volumes[0].secret.namespace"`},
		"name twice":      {reason: "which one is meant cannot be told", patch: `spec: {volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]}`, want: "spec.volumes[1]: Duplicate value"},
		"bad name":        {reason: "Kubernetes refuses it", patch: `spec: {volumes: [{name: a_b, emptyDir: {}}]}`, want: name},
		"empty name":      {reason: "nothing could mount it", patch: `spec: {volumes: [{name: "", emptyDir: {}}]}`, want: name},
		"no secret":       {reason: "there is nothing to look for", patch: `spec: {volumes: [{name: a, secret: {}}]}`, want: "spec.volumes[0].secret.secretName: Required value"},
		"no claim":        {reason: "there is nothing to look for", patch: `spec: {volumes: [{name: a, persistentVolumeClaim: {claimName: ""}}]}`, want: "spec.volumes[0].persistentVolumeClaim.claimName"},
		"medium":          {reason: "there are two", patch: `spec: {volumes: [{name: a, emptyDir: {medium: memory}}]}`, want: `supported values: "", "Memory"`},
		"negative size":   {reason: "there is no less than nothing", patch: `spec: {volumes: [{name: a, emptyDir: {sizeLimit: -1Gi}}]}`, want: "sizeLimit must not be negative: write an amount such as 1Gi"},
		"half exponent":   {reason: "Go's parser of quantities does not know it, and no client could read the Foo", patch: `spec: {volumes: [{name: a, emptyDir: {sizeLimit: "1e1.5"}}]}`, want: "sizeLimit in body should match"},
		"huge exponent":   {reason: "to work with such a number takes seconds", patch: `spec: {volumes: [{name: a, emptyDir: {sizeLimit: "1e99999999999999999999"}}]}`, want: "sizeLimit in body should match"},
		"negative number": {reason: "there is no less than nothing", patch: `spec: {volumes: [{name: a, emptyDir: {sizeLimit: -1}}]}`, want: "sizeLimit must not be negative: write an amount such as 1Gi"},
		"mode":            {reason: "0777 is the most", patch: `spec: {volumes: [{name: a, configMap: {name: a, defaultMode: 512}}]}`, want: "defaultMode in body should be less than or equal to 511"},
		"no sources":      {reason: "there is nothing to mount", patch: `spec: {volumes: [{name: a, projected: {sources: []}}]}`, want: "spec.volumes[0].projected.sources"},
	})
}

func TestFooVolumePaths(t *testing.T) {
	t.Parallel()
	const within = "path must be a path within the volume, without '..' and not beginning with '/'"
	testCreate(t, smallFoo, map[string]admission{
		"dots in a name": {reason: "only a whole part '..' leads out", patch: `spec: {volumes: [{name: a, configMap: {name: a, items: [{key: a, path: a..b/c..}]}}]}`},
		"absolute":       {reason: "it would lead out", patch: `spec: {volumes: [{name: a, configMap: {name: a, items: [{key: a, path: /etc/passwd}]}}]}`, want: within},
		"up first":       {reason: "it would lead out", patch: `spec: {volumes: [{name: a, configMap: {name: a, items: [{key: a, path: ../a}]}}]}`, want: within},
		"up between":     {reason: "it would lead out", patch: `spec: {volumes: [{name: a, secret: {secretName: a, items: [{key: a, path: a/../../b}]}}]}`, want: within},
		"up last":        {reason: "it would lead out", patch: `spec: {volumes: [{name: a, secret: {secretName: a, items: [{key: a, path: a/..}]}}]}`, want: within},
		"empty":          {reason: "a file needs a name", patch: `spec: {volumes: [{name: a, secret: {secretName: a, items: [{key: a, path: ""}]}}]}`, want: within},
		"projected":      {reason: "it would lead out", patch: `spec: {volumes: [{name: a, projected: {sources: [{secret: {name: a, items: [{key: a, path: ../a}]}}]}}]}`, want: within},
		"downward":       {reason: "it would lead out", patch: `spec: {volumes: [{name: a, projected: {sources: [{downwardAPI: {items: [{path: ../a, fieldRef: {fieldPath: metadata.name}}]}}]}}]}`, want: within},
		"token":          {reason: "it would lead out", patch: `spec: {volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: /token}}]}}]}`, want: within},
	})
}

func TestFooProjectedSources(t *testing.T) {
	t.Parallel()
	const one = "a source of a projected volume needs exactly one of configMap, secret, downwardAPI and serviceAccountToken"
	testCreate(t, smallFoo, map[string]admission{
		"none": {reason: "there is nothing to take", patch: `spec: {volumes: [{name: a, projected: {sources: [{}]}}]}`, want: one},
		"two":  {reason: "which one is meant cannot be told", patch: `spec: {volumes: [{name: a, projected: {sources: [{secret: {name: a}, configMap: {name: a}}]}}]}`, want: one},
		"short token": {
			reason: "the API server refuses it",
			patch:  `spec: {volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: token, expirationSeconds: 599}}]}}]}`,
			want:   "expirationSeconds in body should be greater than or equal to 600",
		},
		"no field": {
			reason: "the file would be empty",
			patch:  `spec: {volumes: [{name: a, projected: {sources: [{downwardAPI: {items: [{path: a}]}}]}}]}`,
			want:   "a downwardAPI item needs exactly one of fieldRef and resourceFieldRef",
		},
		"field of a variable": {
			reason: "Kubernetes offers fewer fields to files",
			patch:  `spec: {volumes: [{name: a, projected: {sources: [{downwardAPI: {items: [{path: a, fieldRef: {fieldPath: status.podIP}}]}}]}}]}`,
			want:   "fieldPath of a file must be one of metadata.name",
		},
		"one label": {
			reason: "not all of them",
			patch:  `spec: {volumes: [{name: a, projected: {sources: [{downwardAPI: {items: [{path: a, fieldRef: {fieldPath: "metadata.labels['a']"}}]}}]}}]}`,
		},
		"two fields": {
			reason: "which one is meant cannot be told",
			patch:  `spec: {volumes: [{name: a, projected: {sources: [{downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}, resourceFieldRef: {resource: limits.cpu}}]}}]}}]}`,
			want:   "a downwardAPI item needs exactly one of fieldRef and resourceFieldRef",
		},
	})
}

func TestFooVolumeMounts(t *testing.T) {
	t.Parallel()
	const valid = `
kind: Foo
metadata: {name: mounts}
spec:
  image: registry.example/web
  volumes: [{name: a, emptyDir: {}}]
  volumeMounts: [{name: a, mountPath: /a}]
`
	const missing = "each volumeMount must name one of spec.volumes: add the volume, or correct volumeMounts[].name"
	const path = "mountPath must begin with '/' and must not contain ':', such as /etc/app"
	const subPath = "subPath must be a path within the volume, without '..' and not beginning with '/'"
	testCreate(t, valid, map[string]admission{
		"volume twice":     {reason: "at two places", patch: `spec: {volumeMounts: [{name: a, mountPath: /a}, {name: a, mountPath: /b, subPath: b}]}`},
		"unknown volume":   {reason: "a typing error", patch: `spec: {volumeMounts: [{name: b, mountPath: /a}]}`, want: missing},
		"no volumes":       {reason: "there is nothing to mount", patch: `spec: {volumes: null}`, want: missing},
		"same path":        {reason: "one would hide the other", patch: `spec: {volumeMounts: [{name: a, mountPath: /a}, {name: a, mountPath: /a}]}`, want: "spec.volumeMounts[1]: Duplicate value"},
		"relative":         {reason: "relative to what?", patch: `spec: {volumeMounts: [{name: a, mountPath: a}]}`, want: path},
		"colon":            {reason: "Kubernetes refuses it", patch: `spec: {volumeMounts: [{name: a, mountPath: "/a:b"}]}`, want: path},
		"no path":          {reason: "there is nowhere to put it", patch: `spec: {volumeMounts: [{name: a}]}`, want: "spec.volumeMounts[0].mountPath: Required value"},
		"absolute subPath": {reason: "it would lead out", patch: `spec: {volumeMounts: [{name: a, mountPath: /a, subPath: /etc}]}`, want: subPath},
		"subPath up":       {reason: "it would lead out", patch: `spec: {volumeMounts: [{name: a, mountPath: /a, subPath: a/../..}]}`, want: subPath},
		"subPath dots":     {reason: "it would lead out", patch: `spec: {volumeMounts: [{name: a, mountPath: /a, subPath: ".."}]}`, want: subPath},
		"propagation":      {reason: "it is for privileged containers", patch: `spec: {volumeMounts: [{name: a, mountPath: /a, mountPropagation: Bidirectional}]}`, want: `unknown field "spec.volumeMounts[0].mountPropagation"`},
	})
}
