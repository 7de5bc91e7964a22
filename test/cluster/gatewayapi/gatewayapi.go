// Package gatewayapi pins the version of the Gateway API whose CRDs tests install. Nothing is compiled of it: tests read the files that
// the module holds.
package gatewayapi

import _ "sigs.k8s.io/gateway-api/pkg/consts" // go.mod keeps only what something imports
