# Tests and the demonstration. Included by the top Makefile.

# Which packages `make test` runs, and how many of them at a time: most start a control plane and measure times on it.
PKG ?= ./...
TEST_PROCS ?= 1
# What KUBEBUILDER_ASSETS holds need not be built; whoever runs a program builds it if it is missing there.
KUBE := $(if $(KUBEBUILDER_ASSETS),,kube)

bin/gotestsum: tools/go.mod tools/go.sum
	$(call build-tool,tools,gotest.tools/gotestsum)

.PHONY: kube
kube: ## Build the Kubernetes programs that tests and the demonstration run, into the user's cache folder.
	@go run ./test/cluster/cmd/kube build >/dev/null

.PHONY: test
test: test-chart test-image test-go ## Run all tests: the chart's, the image's, and those against a real control plane.

.PHONY: test-go
test-go: bin/gotestsum $(KUBE) ## Run the Go tests; PKG=./pkg/foo/... chooses.
	@mk/compile tests . '$(PKG)' vet
	@bin/gotestsum --format pkgname --format-hide-empty-pkg -- -vet=off -count=1 -timeout 45m -p $(TEST_PROCS) $(PKG)

# N=100: 650 handovers by SIGTERM, 150 by a restart, 110 by a kill and 125 by a pause, in about half an hour. `make test` has two of each.
N ?= 100
.PHONY: test-failover
test-failover: $(KUBE) ## Measure handovers of the leader, 1,035 with N=100, and prove that no old leader writes after its successor.
	@mk/compile 'failover tests' . ./test/failover vet
	@FAILOVER_N=$(N) go test -vet=off -count=1 -timeout 6h -v -run '$(RUN)' ./test/failover

SPAN ?= 10m
SEED ?= $(shell date +%s)
.PHONY: test-lifecycle
test-lifecycle: $(KUBE) ## Check for SPAN=10m what must hold while tenants come, go, and lose their rights at random; SEED=N repeats a run.
	@go test -vet=off -count=1 -timeout 6h -v ./test/lifecycle -span=$(SPAN) -seed=$(SEED)

.PHONY: test-image
test-image: bin/gotestsum ## Test the image, the program that makes it, and the Dockerfile.
	@mk/compile 'image tests' tools/image ./... vet
	@cd tools/image && ../../bin/gotestsum --format pkgname -- -count=1 -timeout 20m ./...

# The race detector needs cgo, and so a C compiler. Packages whose tests start a cluster are left out.
.PHONY: test-race
test-race: export CGO_ENABLED := 1
test-race: bin/gotestsum ## Run the tests that need no cluster with the race detector; needs a C compiler.
	@packages="$$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.TestImports}} {{.XTestImports}}{{end}}' ./... | \
		grep -v controlee/test/cluster | cut -d ' ' -f 1)"; \
	bin/gotestsum --format pkgname -- -race -timeout 20m $$packages

# Ctrl-C reaches the program and ends it in its own time; after that there is nothing that make should complain about.
.PHONY: demo
demo: $(if $(DEMO_KUBECONFIG),,$(KUBE)) ## Tell the story on a real control plane. DEMO_EXIT=1 ends it after that, DEMO_KUBECONFIG=FILE uses another cluster.
	@interrupted=; trap 'interrupted=1' INT; \
	mk/compile demonstration . ./test/demo -o bin/demo && bin/demo || { code=$$?; [ -n "$$interrupted" ] || exit $$code; }
