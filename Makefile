# Controlee. `make help` lists the targets. All they need is Go, make and git: tools are built from the pinned
# modules in tools/ when first needed, into bin/.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# One set of flags for all that Go builds here: then the operator, the tools, the tests and the Kubernetes programs
# share what was compiled, and no C compiler is needed. What is built does not depend on where, nor on the git state.
export CGO_ENABLED := 0
export GOFLAGS := $(filter-out -trimpath -buildvcs=%,$(GOFLAGS)) -trimpath -buildvcs=false
export GOWORK := off

# $(call build-tool,MODULE,PACKAGE) is the recipe that builds a tool of a pinned module into bin/. The tool runs here,
# whatever the operator is built for.
define build-tool
@mkdir -p $(@D)
@GOOS= GOARCH= mk/compile $@ $(1) $(2) -ldflags '-s -w' -o $(CURDIR)/$@
@touch $@
endef

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

include mk/build.mk mk/test.mk mk/lint.mk mk/api.mk mk/rbac.mk mk/chart.mk mk/docs.mk

.PHONY: generate
generate: generate-api generate-rbac generate-chart generate-docs ## Generate all that is generated: code, CRDs, RBAC rules, the chart's copies, the API reference.

# RBAC and CRDs first, since the chart copies them.
generate-chart: generate-api generate-rbac

.PHONY: tidy
tidy: ## Tidy go.mod and go.sum of every module.
	@git ls-files --cached --others --exclude-standard -- go.mod '*/go.mod' | while read -r mod; do \
		echo "go mod tidy: $$mod" && go -C "$$(dirname "$$mod")" mod tidy || exit 1; \
	done

.PHONY: verify
verify: generate tidy ## Generate and tidy anew, and fail on any difference from what is committed.
	@git --no-pager diff --exit-code -- . || { \
		echo "these files are not what they are generated from, or are not committed: see 'make generate' and 'make tidy'" >&2; exit 1; }
	@untracked="$$(git ls-files --others --exclude-standard)"; if [ -n "$$untracked" ]; then \
		printf 'files that are neither committed nor ignored:\n%s\n' "$$untracked" >&2; exit 1; fi

.PHONY: clean
clean: ## Remove what was built here: bin/ and dist/ (not the caches of the user's account).
	@rm -rf bin dist
