package metrics

import (
	"slices"
	"sync"
)

// Most is how many values a label with names of somebody's choosing has: the
// first that this process met. What follows is counted under [Other].
const Most = 50

// Other stands for the names beyond [Most]. No name has a space.
const Other = "all others"

// names bounds the values of a label.
type names struct {
	mu    sync.Mutex
	known map[string]struct{}
	order []string
}

// of is the value for a name.
func (n *names) of(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.known[name]; ok {
		return name
	}
	if len(n.known) >= Most {
		return Other
	}
	if n.known == nil {
		n.known = map[string]struct{}{}
	}
	n.known[name] = struct{}{}
	n.order = append(n.order, name)
	return name
}

// all are the names that have a value of their own.
func (n *names) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clip(n.order)
}
