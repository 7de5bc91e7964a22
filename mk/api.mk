# API types: deepcopy functions and CustomResourceDefinitions. Included by the top Makefile.

CONTROLLER_GEN ?= go tool -modfile=tools/go.mod controller-gen

.PHONY: generate-api
generate-api: ## Generate the deepcopy functions and crds/ from pkg/api.
	$(CONTROLLER_GEN) object paths=./pkg/api/...
	@mkdir -p crds && rm -f crds/*.yaml
	$(CONTROLLER_GEN) crd paths=./pkg/api/... output:crd:dir=crds
