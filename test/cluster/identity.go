package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// AdminConfig returns a client configuration that may do everything (system:masters).
func (c *Cluster) AdminConfig() *rest.Config {
	return rest.CopyConfig(c.admin)
}

// UserConfig returns a client configuration with a certificate that the cluster reads as this user in these groups. What
// that user may do is up to RBAC.
func (c *Cluster) UserConfig(user string, groups ...string) (*rest.Config, error) {
	if c.attached() {
		return c.impersonate(user, groups...), nil
	}
	return c.clientConfig(c.APIServer.URL, user, groups...)
}

func (c *Cluster) clientConfig(url, user string, groups ...string) (*rest.Config, error) {
	certificate, key, err := c.authority.client(user, groups)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", user, err)
	}
	config := c.anonymousConfig(url)
	config.CertData, config.KeyData = certificate, key
	return config, nil
}

// anonymousConfig has no identity and no client-side rate limit.
func (c *Cluster) anonymousConfig(url string) *rest.Config {
	return &rest.Config{Host: url, TLSClientConfig: rest.TLSClientConfig{CAData: c.authority.pem}, QPS: -1}
}

// WriteKubeconfig writes a client configuration to a kubeconfig file. The namespace, which may be empty, is the one that
// kubectl takes when none is given.
func (c *Cluster) WriteKubeconfig(path string, config *rest.Config, namespace string) error {
	return clientcmd.WriteToFile(kubeconfig(config, namespace), path)
}

// AdminKubeconfig returns the path of a kubeconfig file of the admin, which is there until Stop.
func (c *Cluster) AdminKubeconfig() (string, error) {
	path := filepath.Join(c.Dir, "pki", "admin.kubeconfig")
	return path, c.WriteKubeconfig(path, c.admin, "")
}

func kubeconfig(config *rest.Config, namespace string) clientcmdapi.Config {
	const name = "controlee-test"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthorityData: config.CAData,
		CertificateAuthority:     config.CAFile,
		TLSServerName:            config.ServerName,
		InsecureSkipTLSVerify:    config.Insecure,
	}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
		Impersonate:           config.Impersonate.UserName,
		ImpersonateGroups:     config.Impersonate.Groups,
	}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	file.CurrentContext = name
	return *file
}

// PodTokenConfig returns a client configuration with a token of the ServiceAccount that is bound to an existing pod, as
// the kubelet would give it to that pod: the API server knows the pod's name and UID from it, and refuses the token once
// the pod is gone.
func (c *Cluster) PodTokenConfig(ctx context.Context, namespace, serviceAccount, podName string) (*rest.Config, error) {
	pod, err := c.client.CoreV1().Pods(namespace).Get(ctx, podName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To[int64](24 * 60 * 60),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	answer, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask for a token of ServiceAccount %s/%s bound to pod %s: %w", namespace, serviceAccount, podName, err)
	}
	config := rest.AnonymousClientConfig(c.admin)
	config.BearerToken = answer.Status.Token
	return config, nil
}

// EnsurePod returns a pod of the ServiceAccount, for a token to be bound to, and creates what is missing of the two. The
// process that uses the token is the pod's container, so to speak; with Options.Nodes a pretend node takes the pod too.
func (c *Cluster) EnsurePod(ctx context.Context, namespace, serviceAccount, podName string) (*corev1.Pod, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: serviceAccount}}
	_, err := c.client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create ServiceAccount %s/%s: %w", namespace, serviceAccount, err)
	}
	pod, err := c.client.CoreV1().Pods(namespace).Create(ctx, placeholderPod(serviceAccount, podName), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if pod, err = c.client.CoreV1().Pods(namespace).Get(ctx, podName, metav1.GetOptions{}); err != nil {
			return nil, err
		}
		if pod.Spec.ServiceAccountName != serviceAccount {
			return nil, fmt.Errorf("pod %s/%s exists and has another ServiceAccount: %s", namespace, podName, pod.Spec.ServiceAccountName)
		}
		return pod, nil
	}
	if err != nil {
		return nil, fmt.Errorf("create pod %s/%s: %w", namespace, podName, err)
	}
	return pod, nil
}

// placeholderPod is allowed in a namespace that enforces the restricted Pod Security Standard.
func placeholderPod(serviceAccount, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			ServiceAccountName: serviceAccount,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   ptr.To(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name:  "placeholder",
				Image: "controlee.invalid/placeholder",
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}
