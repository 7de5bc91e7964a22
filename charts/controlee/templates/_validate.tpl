{{/*
What the schema cannot say: how values go together, and whether the cluster is fit for them.
Every message says what to write instead.

Checks against the cluster use `lookup`, which finds nothing in `helm template`, `helm lint` and
client-side dry runs; there they pass.
*/}}

{{- define "controlee.validate" -}}
{{- include "controlee.validateOneRelease" . -}}
{{- include "controlee.validateNoLease" . -}}
{{- include "controlee.validateOperator" . -}}
{{- include "controlee.validateLeaderElection" . -}}
{{- include "controlee.validateTenants" . -}}
{{- include "controlee.validateNamespacesExist" . -}}
{{- include "controlee.validateTenantsStay" . -}}
{{- end -}}

{{/*
Roles, Lease and policies have fixed names: a second release would share or overwrite them.
*/}}
{{- define "controlee.validateOneRelease" -}}
{{- $role := lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "controlee-operator" -}}
{{- $annotations := default dict (dig "metadata" "annotations" dict ($role | default dict)) -}}
{{- $name := get $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := get $annotations "meta.helm.sh/release-namespace" -}}
{{- if and $name (or (ne $name .Release.Name) (ne $namespace .Release.Namespace)) -}}
{{- fail (printf "Controlee is installed in this cluster already, as release %q in namespace %q, and one cluster holds one release: change that one (helm upgrade %s CHART --namespace %s --values YOUR-VALUES.yaml), or uninstall it first (helm uninstall %s --namespace %s)" $name $namespace $name $namespace $name $namespace) -}}
{{- end -}}
{{- end -}}

{{/*
Helm cannot take over a Lease, not even one of its own that was left over: the API server refuses the patch, in words that help nobody.
*/}}
{{- define "controlee.validateNoLease" -}}
{{- if and .Release.IsInstall (lookup "coordination.k8s.io/v1" "Lease" .Release.Namespace "controlee") -}}
{{- fail (printf "a Lease of an earlier installation was left over, and Helm cannot take it over: kubectl delete lease controlee --namespace %s" .Release.Namespace) -}}
{{- end -}}
{{- end -}}

{{- define "controlee.validateOperator" -}}
{{- with .Values.serviceAccount -}}
{{- if and (not .create) (not .name) -}}
{{- fail "serviceAccount.create is false and serviceAccount.name is empty: write the name of the ServiceAccount that the operator shall use" -}}
{{- end -}}
{{- end -}}
{{- if eq (include "controlee.serviceAccountName" .) "default" -}}
{{- fail "the operator's ServiceAccount must not be \"default\", which other Pods of the namespace run as too: write another serviceAccount.name" -}}
{{- end -}}
{{- if and .Values.metrics.enabled (eq (int .Values.metrics.port) (int .Values.healthProbe.port)) -}}
{{- fail (printf "metrics.port and healthProbe.port are both %d: write two different ports" (int .Values.metrics.port)) -}}
{{- end -}}
{{- if or (hasPrefix "kube-" .Release.Namespace) (eq .Release.Namespace "default") -}}
{{- fail (printf "namespace %q cannot hold Controlee, which locks its own: install with --namespace controlee-system --create-namespace" .Release.Namespace) -}}
{{- end -}}
{{- end -}}

{{/*
The operator checks the same at start; here it is seen before anything is changed.
*/}}
{{- define "controlee.validateLeaderElection" -}}
{{- with .Values.leaderElection -}}
{{- $lease := include "controlee.milliseconds" .leaseDuration | int64 -}}
{{- $deadline := include "controlee.milliseconds" .renewDeadline | int64 -}}
{{- $retry := include "controlee.milliseconds" .retryPeriod | int64 -}}
{{- if lt $retry 1 -}}
{{- fail (printf "leaderElection.retryPeriod is %s: write at least 1ms" .retryPeriod) -}}
{{- end -}}
{{- if lt $lease (add $deadline $retry 1000) -}}
{{- fail (printf "leaderElection.leaseDuration (%s) must be at least renewDeadline + retryPeriod + 1s (%s + %s + 1s), or a new leader could start before the old one has stopped: write %ds or more" .leaseDuration .renewDeadline .retryPeriod (div (add $deadline $retry 1999) 1000)) -}}
{{- end -}}
{{- if le (mul $deadline 10) (mul $retry 12) -}}
{{- fail (printf "leaderElection.renewDeadline (%s) must be more than 1.2 x retryPeriod (%s), or the leader gives up before its second try: write more than %dms" .renewDeadline .retryPeriod (div (mul $retry 12) 10)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "controlee.validateTenants" -}}
{{- $classes := concat (keys .Values.barClasses) .Values.externalBarClasses -}}
{{- $names := dict -}}
{{- $claimed := dict -}}
{{- range $tenant := .Values.tenants -}}
{{- if hasKey $names $tenant.name -}}
{{- fail (printf "tenants: %q stands there twice: give each tenant a name of its own, or put the namespaces of both into one entry" $tenant.name) -}}
{{- end -}}
{{- $_ := set $names $tenant.name true -}}
{{- range $namespace := $tenant.namespaces -}}
{{- if eq $namespace $.Release.Namespace -}}
{{- fail (printf "tenants: %q claims %q, the namespace that Controlee itself is installed in: write a namespace of the team's own" $tenant.name $namespace) -}}
{{- end -}}
{{- if hasPrefix "kube-" $namespace -}}
{{- fail (printf "tenants: %q claims %q, but namespaces that begin with \"kube-\" belong to Kubernetes: write a namespace of the team's own" $tenant.name $namespace) -}}
{{- end -}}
{{- if hasKey $claimed $namespace -}}
{{- fail (printf "tenants: namespace %q is claimed by %q and by %q: write it under one of them" $namespace (get $claimed $namespace) $tenant.name) -}}
{{- end -}}
{{- $_ := set $claimed $namespace $tenant.name -}}
{{- end -}}
{{- range $class := $tenant.allowedBarClasses -}}
{{- if not (has $class $classes) -}}
{{- fail (printf "tenants: %q is allowed BarClass %q, which is not defined: write it under barClasses, or, if it is made elsewhere, in externalBarClasses (known: %s)" $tenant.name $class (default "none" ($classes | sortAlpha | join ", "))) -}}
{{- end -}}
{{- end -}}
{{- with $tenant.createNamespaces -}}
{{- if not .create -}}
{{- range $key := list "podSecurity" "resourceQuota" "limitRange" "defaultDenyNetworkPolicy" -}}
{{- if get $tenant.createNamespaces $key -}}
{{- fail (printf "tenants: %q sets createNamespaces.%s, which is only put into namespaces that the chart makes: write createNamespaces.create: true, or leave it out" $tenant.name $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $class := .Values.externalBarClasses -}}
{{- if hasKey $.Values.barClasses $class -}}
{{- fail (printf "BarClass %q stands in barClasses and in externalBarClasses: leave it in the one that makes it" $class) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
A RoleBinding in a namespace that does not exist is refused only after half of the release has
been written; a namespace that somebody else made is refused with an error about annotations.
One list of all namespaces, not a look at each: Helm sends five requests a second.
*/}}
{{- define "controlee.validateNamespacesExist" -}}
{{- $found := dict -}}
{{- range (lookup "v1" "Namespace" "" "").items -}}
{{- $_ := set $found .metadata.name . -}}
{{- end -}}
{{- if $found -}}
{{- range $tenant := .Values.tenants -}}
{{- $create := dig "createNamespaces" "create" false $tenant -}}
{{- range $name := $tenant.namespaces -}}
{{- $namespace := get $found $name -}}
{{- if not $namespace -}}
{{- if not $create -}}
{{- fail (printf "tenants: namespace %q of %q does not exist: make it first (kubectl create namespace %s), or write createNamespaces.create: true" $name $tenant.name $name) -}}
{{- end -}}
{{- else if dig "metadata" "deletionTimestamp" "" $namespace -}}
{{- fail (printf "tenants: namespace %q of %q is being deleted: wait until it is gone, or take it out of the tenant" $name $tenant.name) -}}
{{- else if and $create (ne (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $namespace) $.Release.Name) -}}
{{- fail (printf "tenants: namespace %q of %q exists, and was not made by this release: write createNamespaces.create: false" $name $tenant.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
