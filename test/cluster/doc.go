// Package cluster starts a real Kubernetes control plane for tests and for the demonstration, from Go modules alone.
//
// [Start] runs etcd and kube-apiserver on loopback with RBAC, the OwnerReferencesPermissionEnforcement admission plugin
// and, if asked, an audit log, kube-controller-manager, kube-scheduler and nodes that only pretend to run pods.
// Identities are real: [Cluster.UserConfig] makes client certificates, [Cluster.PodTokenConfig] asks for tokens bound to
// a pod. [Cluster.InstallChart] installs the chart with Helm's SDK, [Cluster.StartOperator] runs the operator as a
// process with the ServiceAccount that the chart made for it.
//
// Each server is a [Process] that a test can pause, kill and start again. All of them, and their files, are gone after
// [Cluster.Stop]; on Linux they also end with the process that started them, however that ends.
//
// What stands apart: package programs builds the servers, package repo finds the checkout.
package cluster
