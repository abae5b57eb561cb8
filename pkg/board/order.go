package board

import "slices"

// order is the heads of a board in queue order. During a batch, between begin
// and end, it is neither sorted nor complete: a catch-up of n heads would move
// up to n others for each of them.
type order struct {
	heads   []*head // sorted by before
	batch   bool
	added   map[*head]struct{} // in the batch
	removed map[*head]struct{}
}

func (o *order) add(h *head) {
	if o.batch {
		o.added[h] = struct{}{}
		return
	}
	at, _ := slices.BinarySearchFunc(o.heads, h, before)
	o.heads = slices.Insert(o.heads, at, h)
}

func (o *order) remove(h *head) {
	if o.batch {
		if _, added := o.added[h]; added {
			delete(o.added, h)
		} else {
			o.removed[h] = struct{}{}
		}
		return
	}
	if at, ok := slices.BinarySearchFunc(o.heads, h, before); ok {
		o.heads = slices.Delete(o.heads, at, at+1)
	}
}

func (o *order) begin() {
	o.batch, o.added, o.removed = true, map[*head]struct{}{}, map[*head]struct{}{}
}

func (o *order) end() {
	if len(o.removed) > 0 {
		o.heads = slices.DeleteFunc(o.heads, func(h *head) bool { _, gone := o.removed[h]; return gone })
	}
	for h := range o.added {
		o.heads = append(o.heads, h)
	}
	if len(o.added) > 0 {
		slices.SortFunc(o.heads, before)
	}
	*o = order{heads: o.heads}
}
