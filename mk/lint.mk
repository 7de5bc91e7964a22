# Checks of the code. The chart's are in mk/chart.mk. Included by the top Makefile.

bin/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	$(call build-tool,tools/lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint)

.PHONY: lint
lint: lint-go lint-chart ## Run all linters.

.PHONY: lint-go
lint-go: bin/golangci-lint ## Check the Go code, as .golangci.yml says.
	@bin/golangci-lint run --allow-serial-runners ./...
	@cd tools/image && ../../bin/golangci-lint run --allow-serial-runners ./...

.PHONY: lint-kube
lint-kube: kube ## Vet the module of the Kubernetes programs, which takes having compiled them.
	@go -C test/cluster/kube vet ./...

.PHONY: format
format: bin/golangci-lint ## Format the Go code.
	@bin/golangci-lint fmt ./...
	@cd tools/image && ../../bin/golangci-lint fmt ./...
