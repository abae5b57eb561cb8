package metrics

import (
	"slices"
	"sync"
)

// Most bounds the values of a label that outsiders choose: the first ones that
// this process met. Further values are counted as allOthers.
const Most = 50

// allOthers replaces the names beyond [Most]. Names have no spaces.
const allOthers = "all others"

// names bounds the values of a label.
type names struct {
	mu    sync.Mutex
	known map[string]struct{}
	order []string
}

// of returns the label value for a name.
func (n *names) of(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.known[name]; ok {
		return name
	}
	if len(n.known) >= Most {
		return allOthers
	}
	if n.known == nil {
		n.known = map[string]struct{}{}
	}
	n.known[name] = struct{}{}
	n.order = append(n.order, name)
	return name
}

// all returns the names that have their own value.
func (n *names) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clip(n.order)
}
