package cluster

import (
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// testAttach attaches to the cluster as to one that somebody else started.
func testAttach(t *testing.T, c *Cluster) {
	namespace := makeNamespace(t, c, "attach")
	attached, err := Attach(t.Context(), c.AdminConfig(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if attached.Version != c.Version {
		t.Errorf("the version is %s, want %s", attached.Version, c.Version)
	}

	user, err := attached.UserConfig("jane", "team-a")
	if err != nil {
		t.Fatal(err)
	}
	if who := whoAmI(t, user); who.Username != "jane" {
		t.Errorf("the API server takes the user for %+v", who)
	}

	if _, err := attached.EnsurePod(t.Context(), namespace, "operator", "operator-0"); err != nil {
		t.Fatal(err)
	}
	token, err := attached.PodTokenConfig(t.Context(), namespace, "operator", "operator-0")
	if err != nil {
		t.Fatal(err)
	}
	if who := whoAmI(t, token); len(who.Extra["authentication.kubernetes.io/pod-name"]) != 1 {
		t.Errorf("the token is bound to no pod: %+v", who)
	}

	if err := attached.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(attached.Dir); !os.IsNotExist(err) {
		t.Errorf("%s after Stop: %v", attached.Dir, err)
	}
	if _, err := clientset(t, c.AdminConfig()).CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{}); err != nil {
		t.Errorf("the cluster after Stop: %v", err)
	}
}
