{{/*
What the admission policies have in common. Their names do not depend on the release: there is one in a cluster.
*/}}

{{- define "controlee.operatorUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "controlee.serviceAccountName" . }}
{{- end -}}

{{- define "controlee.policyMetadata" -}}
name: {{ .name }}
labels:
  {{- include "controlee.labels" .root | nindent 2 }}
{{- end -}}

{{/*
A refusal is also noted in the audit event of the request, with the names of policy and binding.
Call with (dict "root" $ "name" NAME).
*/}}
{{- define "controlee.policyBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  {{- include "controlee.policyMetadata" . | nindent 2 }}
spec:
  policyName: {{ .name }}
  validationActions: [Deny, Audit]
{{- end -}}

{{/*
Whom the locks let pass. Kubernetes' own controllers, which delete what belongs to a deleted namespace or owner, take their finalizers
off and owners out, and never change a spec: as ServiceAccounts, or all as one user where the controller manager is run so. Whoever
is one of them can ask for any ServiceAccount's token as well.
*/}}
{{- define "controlee.lockExemptions" -}}
- name: not-by-kubernetes
  expression: >-
    !(request.userInfo.username in [
    'system:serviceaccount:kube-system:namespace-controller',
    'system:serviceaccount:kube-system:generic-garbage-collector',
    'system:kube-controller-manager'])
    || !(request.operation == 'DELETE'
    || request.operation == 'UPDATE' && !has(request.subResource) && object.spec == oldObject.spec)
{{- with .Values.lock.breakGlassGroups }}
- name: not-by-break-glass
  expression: >-
    !has(request.userInfo.groups)
    || !request.userInfo.groups.exists(group, group in {{ toJson . }})
{{- end }}
{{- end -}}

{{/*
Admits an update that leaves the object as it is, by whomever: a migration of the storage version and the rotation of an encryption key
write each object unchanged. The managed fields have to be the same too, since applying the present value of a field makes its author
an owner of that field and changes nothing else. Only what the API server sets for each request may differ.
*/}}
{{- define "controlee.lockChanges" -}}
- name: changes-something
  expression: >-
    request.operation != 'UPDATE'
    || !dyn(object).all(key, key == 'metadata' || key in dyn(oldObject) && dyn(object)[key] == dyn(oldObject)[key])
    || !dyn(oldObject).all(key, key in dyn(object))
    || !dyn(object.metadata).all(key, key in ['resourceVersion', 'generation']
    || key in dyn(oldObject.metadata) && dyn(object.metadata)[key] == dyn(oldObject.metadata)[key])
    || !dyn(oldObject.metadata).all(key, key in ['resourceVersion', 'generation'] || key in dyn(object.metadata))
{{- end -}}

{{/*
What the fence is about: each resource that the operator's rules let it write. Those rules come from files/rbac, so that a right
that is added is fenced as well. Not fenced: Events, and what leadership itself is made of, the Lease and the Fence's spec.

With "records": what nobody but the operator writes, Bars and statuses of our kinds. Without: the rest.
Call with (dict "files" .Files "records" BOOL).
*/}}
{{- define "controlee.fencedResources" -}}
{{- $exempt := list "events.k8s.io/events" "/events" "coordination.k8s.io/leases" "controlee.dev/fences" "controlee.dev/foos/finalizers" -}}
{{- $writes := list "create" "update" "patch" "delete" "deletecollection" -}}
{{- range $file := list "cluster" "system" "tenant" }}
{{- range $rule := ($.files.Get (printf "files/rbac/operator/%s.yaml" $file) | fromYaml).rules }}
{{- $verbs := list }}
{{- range $verb := $rule.verbs }}
{{- if has $verb $writes }}
{{- $verbs = append $verbs $verb }}
{{- end }}
{{- end }}
{{- range $group := $rule.apiGroups }}
{{- $resources := list }}
{{- range $resource := $rule.resources }}
{{- if and $verbs (not (has (printf "%s/%s" $group $resource) $exempt)) (eq $.records (eq $group "controlee.dev")) }}
{{- $resources = append $resources $resource }}
{{- end }}
{{- end }}
{{- if $resources }}
- apiGroups: [{{ $group | quote }}]
  apiVersions: ["*"]
  operations: [CREATE, UPDATE{{ if not $.records }}, DELETE{{ end }}]
  resources: [{{ $resources | join ", " }}]
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
The rule of the fence, the same for both of its policies.
*/}}
{{- define "controlee.fenceRule" -}}
matchConditions:
  - name: by-the-operator
    expression: request.userInfo.username == '{{ include "controlee.operatorUser" . }}'
variables:
  - name: podName
    expression: >-
      has(request.userInfo.extra) && 'authentication.kubernetes.io/pod-name' in request.userInfo.extra
      ? request.userInfo.extra['authentication.kubernetes.io/pod-name'][0] : ''
  - name: podUID
    expression: >-
      has(request.userInfo.extra) && 'authentication.kubernetes.io/pod-uid' in request.userInfo.extra
      ? request.userInfo.extra['authentication.kubernetes.io/pod-uid'][0] : ''
  - name: held
    expression: has(params.spec) && has(params.spec.holder)
validations:
  - expression: >-
      variables.held && variables.podUID != ''
      && variables.podName == params.spec.holder.podName && variables.podUID == params.spec.holder.podUID
    messageExpression: >-
      (variables.podUID == ''
      ? 'the token of ' + request.userInfo.username + ' names no Pod, and only the Pod that leads may write'
      : 'Pod ' + variables.podName + ' (' + variables.podUID + ') does not lead')
      + ': Fence {{ .Release.Namespace }}/controlee names '
      + (variables.held
      ? 'Pod ' + params.spec.holder.podName + ' (' + params.spec.holder.podUID + ') as of epoch ' + string(params.spec.epoch)
      : 'nobody yet')
    message: only the Pod that Fence {{ .Release.Namespace }}/controlee names may write
    reason: Forbidden
{{- end -}}
