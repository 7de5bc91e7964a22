{{/*
What an upgrade takes from the tenants that this release has installed, as JSON:

  tenants: a list, sorted by name, of {tenant, namespaces, removed, leaving, released}. `namespaces` are those that no entry of the
           values names any more; `removed` says whether the Tenant goes with them. A renamed tenant, whose namespaces are all
           under another entry, is not in the list.
  all:     whether no installed tenant keeps a name or a namespace, and one of them at least was not released.

A tenant counts as released if it is leaving, and the operator says so of its present generation by the condition Released.

Found by `lookup`, so that nothing is known where Helm does not ask the cluster: in `helm template` (which Argo CD runs) and in
client-side dry runs. A rollback renders no templates at all.
*/}}
{{- define "controlee.removedTenants" -}}
{{- $removed := list -}}
{{- $stays := 0 -}}
{{- $active := 0 -}}
{{- if and .Release.IsUpgrade (.Capabilities.APIVersions.Has "controlee.dev/v1alpha1/Tenant") -}}
{{- $names := dict -}}
{{- $served := dict -}}
{{- range $tenant := .Values.tenants -}}
{{- $_ := set $names $tenant.name true -}}
{{- range $tenant.namespaces -}}
{{- $_ := set $served . true -}}
{{- end -}}
{{- end -}}
{{- $installed := dict -}}
{{- range (lookup "controlee.dev/v1alpha1" "Tenant" .Release.Namespace "").items -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- $release := printf "%s/%s" (get $annotations "meta.helm.sh/release-namespace") (get $annotations "meta.helm.sh/release-name") -}}
{{- /* Helm deletes neither what somebody else made nor what it is told to keep. */ -}}
{{- if and (eq $release (printf "%s/%s" $.Release.Namespace $.Release.Name)) (ne (get $annotations "helm.sh/resource-policy") "keep") -}}
{{- $_ := set $installed .metadata.name . -}}
{{- end -}}
{{- end -}}
{{- range $name := keys $installed | sortAlpha -}}
{{- $record := get $installed $name -}}
{{- $leaving := dig "spec" "leaving" false $record -}}
{{- $released := false -}}
{{- range dig "status" "conditions" list $record -}}
{{- $current := eq (dig "observedGeneration" 0 . | int64) ($record.metadata.generation | int64) -}}
{{- if and $leaving $current (eq .type "Released") (eq .status "True") -}}
{{- $released = true -}}
{{- end -}}
{{- end -}}
{{- if not $released -}}
{{- $active = add1 $active -}}
{{- end -}}
{{- $lost := list -}}
{{- range $record.spec.namespaces -}}
{{- if not (hasKey $served .) -}}
{{- $lost = append $lost . -}}
{{- end -}}
{{- end -}}
{{- if or (hasKey $names $name) (lt (len $lost) (len $record.spec.namespaces)) -}}
{{- $stays = add1 $stays -}}
{{- end -}}
{{- if $lost -}}
{{- $removed = append $removed (dict "tenant" $name "namespaces" (sortAlpha $lost) "removed" (not (hasKey $names $name)) "leaving" $leaving "released" $released) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "tenants" $removed "all" (and (eq (int $stays) 0) (gt (int $active) 0)) | toJson -}}
{{- end -}}

{{/*
`helm upgrade` without the values file has no tenants, and would remove them all.
*/}}
{{- define "controlee.validateTenantsStay" -}}
{{- $found := include "controlee.removedTenants" . | fromJson -}}
{{- if and $found.all (not .Values.allowRemovingAllTenants) -}}
{{- $names := list -}}
{{- range $found.tenants -}}
{{- $names = append $names .tenant -}}
{{- end -}}
{{- fail (printf "this upgrade would remove every tenant that is installed (%s), and nothing has been changed. If the values file was left out, name it (helm upgrade %s CHART --namespace %s --values YOUR-VALUES.yaml) or keep the values of the release (helm upgrade %s CHART --namespace %s --reset-then-reuse-values). To remove all tenants on purpose, mark them as leaving and wait until the condition Released of each is True, or add --set allowRemovingAllTenants=true" (join ", " $names) .Release.Name .Release.Namespace .Release.Name .Release.Namespace) -}}
{{- end -}}
{{- end -}}

{{/*
Objects that protect a namespace and are in the cluster although the values of a tenant do not have them any more, as a JSON list of
{kind, name, namespace}. Helm keeps these objects: the notes say how to delete one on purpose.

Each is looked up by its name, in namespaces that this release made and nowhere else: whoever upgrades may have no rights on
these kinds in other namespaces, and a lookup that is forbidden fails the upgrade.
*/}}
{{- define "controlee.keptProtection" -}}
{{- $kept := list -}}
{{- if .Release.IsUpgrade -}}
{{- $release := printf "%s/%s" .Release.Namespace .Release.Name -}}
{{- $made := dict -}}
{{- range (lookup "v1" "Namespace" "" "").items -}}
{{- $annotations := .metadata.annotations | default dict -}}
{{- if eq $release (printf "%s/%s" (get $annotations "meta.helm.sh/release-namespace") (get $annotations "meta.helm.sh/release-name")) -}}
{{- $_ := set $made .metadata.name true -}}
{{- end -}}
{{- end -}}
{{- range $key, $object := dict
  "defaultDenyNetworkPolicy" (dict "version" "networking.k8s.io/v1" "kind" "NetworkPolicy" "name" "controlee-default-deny")
  "limitRange" (dict "version" "v1" "kind" "LimitRange" "name" "controlee-tenant")
  "resourceQuota" (dict "version" "v1" "kind" "ResourceQuota" "name" "controlee-tenant") -}}
{{- range $tenant := $.Values.tenants -}}
{{- if not (dig "createNamespaces" $key false $tenant) -}}
{{- range $namespace := $tenant.namespaces -}}
{{- if hasKey $made $namespace -}}
{{- $found := lookup $object.version $object.kind $namespace $object.name -}}
{{- if eq $.Release.Name (dig "metadata" "annotations" "meta.helm.sh/release-name" "" ($found | default dict)) -}}
{{- $kept = append $kept (dict "kind" $object.kind "name" $object.name "namespace" $namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $kept | toJson -}}
{{- end -}}

{{/*
The resources that a Bar makes and that the cluster has, as an argument of kubectl. Routes are first, since they have the host names.
*/}}
{{- define "controlee.barObjectResources" -}}
{{- $resources := list -}}
{{- range $kind := list "HTTPRoute" "TCPRoute" "TLSRoute" -}}
{{- range $.Capabilities.APIVersions -}}
{{- if and (hasPrefix "gateway.networking.k8s.io/" .) (hasSuffix (printf "/%s" $kind) .) -}}
{{- $resources = append $resources (printf "%ss.gateway.networking.k8s.io" (lower $kind)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- append ($resources | uniq) "services" | join "," -}}
{{- end -}}
