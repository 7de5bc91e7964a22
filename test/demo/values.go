package main

import "strings"

// value is what is set for the chart besides values.yaml, in the form of helm's --set.
type value struct{ path, text string }

// values are those that depend on where the story is told.
func (w *world) values() []value {
	switch {
	case w.options.image != "":
		repository, tag, digest := splitImage(w.options.image)
		values := []value{{"image.repository", repository}}
		if tag != "" {
			values = append(values, value{"image.tag", tag})
		}
		if digest != "" {
			values = append(values, value{"image.digest", digest})
		}
		return values
	case w.options.kubeconfig != "":
		// The Pods must not run there: two processes would act as one Pod. No node has this label, so they stay Pending.
		return []value{{"nodeSelector.demo", "local"}}
	}
	return nil
}

// nested turns paths into tables.
func nested(values []value) map[string]any {
	root := map[string]any{}
	for _, v := range values {
		table := root
		names := strings.Split(v.path, ".")
		for _, name := range names[:len(names)-1] {
			next, ok := table[name].(map[string]any)
			if !ok {
				next = map[string]any{}
				table[name] = next
			}
			table = next
		}
		table[names[len(names)-1]] = v.text
	}
	return root
}

// splitImage takes an image's name apart. A colon before the last slash belongs to the registry's port.
func splitImage(image string) (repository, tag, digest string) {
	repository, digest, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository, tag = repository[:colon], repository[colon+1:]
	}
	return repository, tag, digest
}
