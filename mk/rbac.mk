# RBAC rules of the operator: from the markers beside the code that needs them. Included by the top Makefile.

.PHONY: generate-rbac
generate-rbac: ## Generate rbac/operator from the markers in pkg.
	@mkdir -p bin/rbac rbac/operator && rm -f rbac/operator/*.yaml
	$(CONTROLLER_GEN) rbac:roleName=controlee-operator paths=./pkg/... output:rbac:dir=bin/rbac
	@awk -v 'dir=rbac/operator' -f mk/split-roles.awk bin/rbac/role.yaml
