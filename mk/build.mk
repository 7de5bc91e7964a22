# The operator: its program and its image. Included by the top Makefile.

# The chart says which version this is; the program, the image and its tag follow.
VERSION ?= $(shell sed -n 's/^appVersion: "\(.*\)"$$/\1/p' charts/controlee/Chart.yaml)
# The name that the chart asks for, so that a cluster which has loaded the image needs no other value.
IMAGE ?= $(shell sed -n 's/^  repository: //p' charts/controlee/values.yaml)
ARCH ?= $(shell go env GOHOSTARCH)
OUT ?= bin/controlee
DIST ?= dist

REVISION = $(shell git describe --always --abbrev=40 --dirty --exclude='*' 2>/dev/null)
# As the convention for reproducible builds has it: the time of the sources, not of the build.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

.PHONY: version
version: ## Print the version.
	@echo $(VERSION)

.PHONY: build
build: ## Build the operator: bin/controlee, or OUT. GOOS and GOARCH choose the platform.
	@mk/compile operator . ./cmd/controlee -ldflags '-s -w -X main.version=$(VERSION)' -o $(OUT)

bin/image: $(wildcard tools/image/*.go) tools/image/go.mod tools/image/go.sum
	$(call build-tool,tools/image,.)

.PHONY: image
image: bin/image ## Make an image archive in dist/, without a container engine. ARCH chooses the platform.
	@mkdir -p $(DIST)
	@$(MAKE) --no-print-directory build GOOS=linux GOARCH=$(ARCH) OUT=bin/linux-$(ARCH)/controlee
	@bin/image --program bin/linux-$(ARCH)/controlee --name $(IMAGE):$(VERSION) --version '$(VERSION)' --revision '$(REVISION)' \
		--created $(SOURCE_DATE_EPOCH) --output $(DIST)/controlee-$(VERSION)-linux-$(ARCH).tar
