package tenancy

import "regexp"

// numbers are what differs between two messages of one error that lasts: the port of the client's
// side of a connection, the stream of a request, the present time.
var numbers = regexp.MustCompile(`\d+`)

// isSame returns whether two states differ at most in the numbers of their messages. The first one then
// stays, because every change is a write of the Tenant's status and requeues the tenant's objects.
func (s State) isSame(other State) bool {
	return s.State == other.State && s.Reason == other.Reason && isSameMessage(s.Message, other.Message)
}

func isSameMessage(a, b string) bool {
	return numbers.ReplaceAllLiteralString(a, "0") == numbers.ReplaceAllLiteralString(b, "0")
}
