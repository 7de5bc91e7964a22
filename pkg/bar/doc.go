// Package bar is the controller of Bars: it makes of each Bar what the provider of its BarClass says, such as a Service or a route, in
// the namespace of the Bar's source, and takes it away when the Bar is released.
//
//	Reads:    Bars in the system namespace; BarClasses; in tenant namespaces Services, Deployments and the kinds of the providers, whoever made
//	          them; a Namespace by name, to see whether it is gone
//	Writes:   those objects that it made for a Bar; the status of Bars, and their deletion once they are released; Events about Bars
//	Role:     controlee-operator-system for Bars and their Events; controlee-operator, which holds in the whole cluster, for BarClasses and
//	          Namespaces; controlee-operator-tenant, bound in each tenant namespace, for the rest
//	Cleans up: the controller itself, by Bar.status.targets; Kubernetes' garbage collector when the source is gone; package claim's sweep for the rest
//
// It writes down what it is about to do before it does it, so that whoever takes over knows what may be half done:
//
//   - An object is made only after a status that plans it was written, or the Bar was read live: then no one has released it meanwhile.
//   - An object is deleted only after its UID was written down with it as being deleted, and only by that UID.
//   - An entry goes only when the object was seen to be gone.
package bar
