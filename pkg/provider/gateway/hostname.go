package gateway

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "github.com/controlee/controlee/pkg/api/v1alpha1"
	"github.com/controlee/controlee/pkg/provider"
)

// hostname fills in the class's template; without a template there is no host name.
func hostname(template string, bar *v1alpha1.Bar) (string, error) {
	if template == "" {
		return "", nil
	}
	source := &bar.Spec.SourceRef
	host := strings.NewReplacer("{name}", source.Name, "{namespace}", source.Namespace, "{tenant}", bar.Spec.Tenant).Replace(template)
	problems := validation.IsDNS1123Subdomain(host)
	for label := range strings.SplitSeq(host, ".") {
		problems = append(problems, validation.IsDNS1123Label(label)...)
	}
	if len(problems) > 0 {
		return "", provider.Refuse(v1alpha1.ReasonHostnameInvalid, "the host name would be %s, which is not valid (%s): give the %s another name", host, problems[0], source.Kind)
	}
	return host, nil
}
