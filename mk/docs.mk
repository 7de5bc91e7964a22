# Documentation that is generated. Included by the top Makefile.

bin/crd-ref-docs: tools/go.mod tools/go.sum
	$(call build-tool,tools,github.com/elastic/crd-ref-docs)

.PHONY: generate-docs
generate-docs: bin/crd-ref-docs ## Generate the API reference and the diagram of phases from pkg/api.
	@mkdir -p docs/reference
	@bin/crd-ref-docs --config tools/docs/config.yaml --templates-dir tools/docs/templates --renderer markdown \
		--source-path pkg/api --max-depth 20 --log-level WARN --output-path docs/reference/api.md
	@go run ./pkg/bar/diagram >docs/reference/bar-phases.md
