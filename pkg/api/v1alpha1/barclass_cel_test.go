package v1alpha1_test

import (
	"strings"
	"testing"
)

const validServiceClass = `
kind: BarClass
metadata: {name: valid-service}
spec:
  description: Reachable from the office.
  provider:
    type: Service
    service:
      type: LoadBalancer
      loadBalancerClass: metallb.io/metallb
      annotations: {metallb.io/address-pool: office}
      sourceRanges: [10.0.0.0/8, "2001:db8::/32"]
      externalTrafficPolicy: Local
      ipFamilyPolicy: PreferDualStack
      ipFamilies: [IPv6, IPv4]
`

const validGatewayClass = `
kind: BarClass
metadata: {name: valid-gateway}
spec:
  provider:
    type: Gateway
    gateway:
      parentRef: {namespace: gateways, name: public, sectionName: https}
      routeKind: HTTPRoute
      hostnameTemplate: "{name}.{namespace}.apps.example.com"
`

func TestBarClass(t *testing.T) {
	t.Parallel()
	const service = "with type: Service write the settings under service (such as service: {type: ClusterIP}) and leave gateway out"
	const gateway = "with type: Gateway write the settings under gateway (parentRef, routeKind, hostnameTemplate) and leave service out"
	testCreate(t, validServiceClass, map[string]admission{
		"valid":          {reason: "all fields in use", patch: `{}`},
		"default":        {reason: "a ClusterIP Service", patch: `spec: {provider: {service: null}}`, want: service},
		"long name":      {reason: "annotations and conditions hold it", patch: `metadata: {name: ` + strings.Repeat("x", 64) + `}`, want: "metadata.name must be a DNS label"},
		"name with dots": {reason: "Foos could not name it", patch: `metadata: {name: a.b}`, want: "metadata.name must be a DNS label"},
		"unknown field":  {reason: "strict", patch: `spec: {provider: {service: {a: b}}}`, want: `unknown field "spec.provider.service.a"`},
		"no provider":    {reason: "nothing would make it", patch: `spec: {provider: null}`, want: "spec.provider: Required value"},
		"no type":        {reason: "the type tells how to read the rest", patch: `spec: {provider: {type: null}}`, want: "spec.provider.type: Required value"},
		"unknown type":   {reason: "there are two", patch: `spec: {provider: {type: service}}`, want: `supported values: "Service", "Gateway"`},
		"other type":     {reason: "the settings are another's", patch: `spec: {provider: {type: Gateway}}`, want: gateway},
		"no grace":       {reason: "released at once", patch: `spec: {releaseGracePeriodSeconds: 0}`},
		"a day":          {reason: "the bound itself", patch: `spec: {releaseGracePeriodSeconds: 86400}`},
		"negative grace": {reason: "it would be over before it began", patch: `spec: {releaseGracePeriodSeconds: -1}`, want: "spec.releaseGracePeriodSeconds in body should be greater than or equal to 0"},
		"longer":         {reason: "a forgotten load balancer costs money", patch: `spec: {releaseGracePeriodSeconds: 86401}`, want: "spec.releaseGracePeriodSeconds in body should be less than or equal to 86400"},
		"both": {
			reason: "which one is meant cannot be told",
			patch:  `spec: {provider: {gateway: {parentRef: {namespace: a, name: b}, hostnameTemplate: "{name}.example.com"}}}`,
			want:   service,
		},
	})
}

func TestBarClassService(t *testing.T) {
	t.Parallel()
	testCreate(t, validServiceClass, map[string]admission{
		"nothing set":             {reason: "a ClusterIP Service", patch: `spec: {provider: {service: {type: null, loadBalancerClass: null, sourceRanges: null, externalTrafficPolicy: null, ipFamilyPolicy: null, ipFamilies: null, annotations: null}}}`},
		"well-known class":        {reason: "a name without a domain", patch: `spec: {provider: {service: {loadBalancerClass: internal-vip}}}`},
		"NodePort with policy":    {reason: "it applies there too", patch: `spec: {provider: {service: {type: NodePort, loadBalancerClass: null, sourceRanges: null}}}`},
		"ExternalName":            {reason: "it names a host, not Pods", patch: `spec: {provider: {service: {type: ExternalName}}}`, want: `supported values: "ClusterIP", "NodePort", "LoadBalancer"`},
		"class of ours":           {reason: "a Bar for a Bar, without end", patch: `spec: {provider: {service: {loadBalancerClass: controlee.dev/public}}}`, want: "loadBalancerClass must name another implementation"},
		"class's name":            {reason: "a Service refuses it", patch: `spec: {provider: {service: {loadBalancerClass: "a b"}}}`, want: "loadBalancerClass must be a label-style name"},
		"class on NodePort":       {reason: "a Service refuses it", patch: `spec: {provider: {service: {type: NodePort, sourceRanges: null}}}`, want: "loadBalancerClass needs type: LoadBalancer"},
		"ranges on NodePort":      {reason: "a Service refuses it", patch: `spec: {provider: {service: {type: NodePort, loadBalancerClass: null}}}`, want: "sourceRanges needs type: LoadBalancer; to restrict other types use a NetworkPolicy"},
		"policy on ClusterIP":     {reason: "a Service refuses it", patch: `spec: {provider: {service: {type: ClusterIP, loadBalancerClass: null, sourceRanges: null}}}`, want: "externalTrafficPolicy needs type: NodePort or LoadBalancer"},
		"unknown policy":          {reason: "there are two", patch: `spec: {provider: {service: {externalTrafficPolicy: local}}}`, want: `supported values: "Cluster", "Local"`},
		"no range":                {reason: "an address is no range", patch: `spec: {provider: {service: {sourceRanges: [10.0.0.1]}}}`, want: "must be of type cidr"},
		"range twice":             {reason: "the list is a set", patch: `spec: {provider: {service: {sourceRanges: [10.0.0.0/8, 10.0.0.0/8]}}}`, want: "Duplicate value"},
		"annotation of ours":      {reason: "it would ask for a Bar, or forge an answer", patch: `spec: {provider: {service: {annotations: {controlee.dev/bar-class: a}}}}`, want: "annotations must not be of controlee.dev: those are the operator's own"},
		"family twice":            {reason: "the list is a set", patch: `spec: {provider: {service: {ipFamilies: [IPv4, IPv4]}}}`, want: "Duplicate value"},
		"unknown family":          {reason: "there are two", patch: `spec: {provider: {service: {ipFamilies: [IPv5]}}}`, want: `supported values: "IPv4", "IPv6"`},
		"two families, one stack": {reason: "a Service refuses it", patch: `spec: {provider: {service: {ipFamilyPolicy: SingleStack}}}`, want: "two ipFamilies need ipFamilyPolicy: PreferDualStack or RequireDualStack"},
		"two families, no policy": {reason: "the default is one stack", patch: `spec: {provider: {service: {ipFamilyPolicy: null}}}`, want: "two ipFamilies need ipFamilyPolicy: PreferDualStack or RequireDualStack"},
		"long annotation":         {reason: "maps are bounded", patch: `spec: {provider: {service: {annotations: {a: ` + strings.Repeat("x", 4097) + `}}}}`, want: "annotations may have keys of at most 317 and values of at most 4096 characters"},
	})
}

func TestBarClassGateway(t *testing.T) {
	t.Parallel()
	const host = "hostnameTemplate must be a lower-case DNS name of two or more parts in which only {name}, {namespace} and {tenant} are replaced"
	testCreate(t, validGatewayClass, map[string]admission{
		"valid":            {reason: "all fields in use", patch: `{}`},
		"one part of all":  {reason: "no dot between is needed", patch: `spec: {provider: {gateway: {hostnameTemplate: "{name}-{namespace}-{tenant}.example.com"}}}`},
		"TLSRoute":         {reason: "by server name", patch: `spec: {provider: {gateway: {routeKind: TLSRoute}}}`},
		"TCPRoute":         {reason: "without host name", patch: `spec: {provider: {gateway: {routeKind: TCPRoute, hostnameTemplate: null}}}`},
		"TCPRoute, host":   {reason: "TCP has no host name", patch: `spec: {provider: {gateway: {routeKind: TCPRoute}}}`, want: "a TCPRoute has no host name: leave hostnameTemplate out"},
		"GRPCRoute":        {reason: "not offered", patch: `spec: {provider: {gateway: {routeKind: GRPCRoute}}}`, want: `supported values: "HTTPRoute", "TCPRoute", "TLSRoute"`},
		"no host":          {reason: "a route without one takes all", patch: `spec: {provider: {gateway: {hostnameTemplate: null}}}`, want: "an HTTPRoute or TLSRoute needs hostnameTemplate, such as"},
		"default, no host": {reason: "HTTPRoute is the default", patch: `spec: {provider: {gateway: {routeKind: null, hostnameTemplate: null}}}`, want: "an HTTPRoute or TLSRoute needs hostnameTemplate, such as"},
		"no {name}":        {reason: "all would get the same", patch: `spec: {provider: {gateway: {hostnameTemplate: "{namespace}.example.com"}}}`, want: "hostnameTemplate must contain {name}, so that each source gets a host name of its own"},
		"unknown field":    {reason: "nothing replaces it", patch: `spec: {provider: {gateway: {hostnameTemplate: "{name}.{class}.example.com"}}}`, want: host},
		"Go template":      {reason: "another language", patch: `spec: {provider: {gateway: {hostnameTemplate: "{{ .name }}.{name}.example.com"}}}`, want: host},
		"wildcard":         {reason: "it takes all others' names", patch: `spec: {provider: {gateway: {hostnameTemplate: "*.{name}.example.com"}}}`, want: host},
		"upper case":       {reason: "the Gateway API refuses it", patch: `spec: {provider: {gateway: {hostnameTemplate: "{name}.Example.com"}}}`, want: host},
		"one part":         {reason: "a host name of one part is no public one", patch: `spec: {provider: {gateway: {hostnameTemplate: "{name}"}}}`, want: host},
		"empty":            {reason: "leaving it out is the way", patch: `spec: {provider: {gateway: {hostnameTemplate: ""}}}`, want: "hostnameTemplate must contain {name}"},
		"no parent":        {reason: "it would be attached to nothing", patch: `spec: {provider: {gateway: {parentRef: null}}}`, want: "spec.provider.gateway.parentRef: Required value"},
		"no namespace":     {reason: "the tenant's own is never meant", patch: `spec: {provider: {gateway: {parentRef: {namespace: null}}}}`, want: "spec.provider.gateway.parentRef.namespace: Required value"},
		"no listener":      {reason: "all that take it", patch: `spec: {provider: {gateway: {parentRef: {sectionName: null}}}}`},
	})
}
