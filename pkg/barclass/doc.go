// Package barclass says in the status of each BarClass whether the class can be used.
//
//	Reads:    BarClasses
//	Writes:   the status of BarClasses
//	Role:     controlee-operator
//	Cleans up: nothing to clean up; BarClasses belong to the platform admin
package barclass
