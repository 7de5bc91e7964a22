package apply

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Annotate sets annotations of an object that belongs to somebody else, and removes those whose value is empty. It writes only when
// live has other values, and says whether it did. The UID keeps an object of the same name that was made in the meantime from
// being taken for the one that was read.
//
// It is a merge patch and not server-side apply, since it has to remove what somebody else forged as well: from an apply, a field
// that another manager owns too only disappears when that manager lets go of it.
func (w *Writer) Annotate(ctx context.Context, live client.Object, wanted map[string]string) (bool, error) {
	changes := map[string]any{}
	for key, value := range wanted {
		present, exists := live.GetAnnotations()[key]
		switch {
		case value == "" && exists:
			changes[key] = nil
		case value != present:
			changes[key] = value
		}
	}
	if len(changes) == 0 {
		return false, nil
	}
	metadata := map[string]any{"uid": live.GetUID(), "annotations": changes}
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return false, err
	}
	return true, w.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, data), client.FieldOwner(w.FieldManager))
}
