# The chart: the copies it carries, its checks, its package.
#
# The tools are Go modules of their own (tools/helm), built into bin/ when first needed. yamllint is the
# one thing that Go cannot build: `lint-chart` asks for it, `test-chart` and `chart` do without.

CHART := charts/controlee
CHART_VERSION := $(shell sed -n 's/^version: //p' $(CHART)/Chart.yaml)
CHART_PACKAGE := dist/controlee-$(CHART_VERSION).tgz

# Helm takes its own version, and the Kubernetes version that it assumes without a cluster, from the linker.
HELM_VERSION := v3.22.0
HELM_KUBE_MINOR := 37
HELM_LDFLAGS := -s -w \
	-X helm.sh/helm/v3/internal/version.version=$(HELM_VERSION) \
	-X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor=1 \
	-X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor=$(HELM_KUBE_MINOR) \
	-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 \
	-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=$(HELM_KUBE_MINOR)

bin/helm: HELM_PACKAGE := helm.sh/helm/v3/cmd/helm
bin/helm-unittest: HELM_PACKAGE := github.com/helm-unittest/helm-unittest/cmd/helm-unittest
bin/ct: HELM_PACKAGE := github.com/helm/chart-testing/v3/ct

bin/helm bin/helm-unittest bin/ct: tools/helm/go.mod tools/helm/go.sum mk/chart.mk
	@mkdir -p $(@D)
	@GOOS= GOARCH= mk/compile $@ tools/helm $(HELM_PACKAGE) -ldflags '$(HELM_LDFLAGS)' -o $(CURDIR)/$@
	@touch $@

.PHONY: generate-chart
generate-chart: ## Copy the CRDs and the RBAC rules into the chart.
	@for dir in operator tenant platform; do \
		mkdir -p $(CHART)/files/rbac/$$dir && \
		rm -f $(CHART)/files/rbac/$$dir/*.yaml && \
		cp rbac/$$dir/*.yaml $(CHART)/files/rbac/$$dir/ || exit 1; \
	done
	@mkdir -p $(CHART)/crds && rm -f $(CHART)/crds/*.yaml && cp crds/*.yaml $(CHART)/crds/

.PHONY: lint-chart
lint-chart: bin/helm bin/ct ## Check the chart's YAML, its templates and its rendering.
	@command -v yamllint >/dev/null || { \
		echo "lint-chart needs yamllint: apt-get install yamllint (or your system's package of that name)" >&2; exit 1; }
	@if grep -rnE --exclude-dir=policies '(verbs|apiGroups|resources|nonResourceURLs): *(\[|$$)' $(CHART)/templates | grep -v 'resources:$$' || \
		grep -rnE '(verbs|nonResourceURLs):' $(CHART)/templates/policies; then \
		echo "a chart template holds RBAC rules: they live in rbac/ alone" >&2; exit 1; fi
	@yamllint --strict --config-file .yamllint ct.yaml rbac $(CHART)/Chart.yaml $(CHART)/values.yaml $(CHART)/ci $(CHART)/tests
	@PATH="$(CURDIR)/bin:$$PATH" bin/ct lint --config ct.yaml
	@for values in $(CHART)/ci/*-values.yaml; do \
		bin/helm template controlee $(CHART) --namespace controlee-system --values $$values >bin/rendered.yaml && \
		yamllint --strict --config-file .yamllint bin/rendered.yaml || exit 1; \
	done; rm -f bin/rendered.yaml

.PHONY: test-chart
test-chart: bin/helm-unittest ## Run the chart's unit tests.
	@bin/helm-unittest --strict --color=false $(CHART)

.PHONY: chart
chart: bin/helm ## Package the chart into dist/.
	@mkdir -p dist
	@bin/helm package $(CHART) --destination dist
	@test -f $(CHART_PACKAGE)
