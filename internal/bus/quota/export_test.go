package quota

// Len returns how many tenants and sessions are counted.
func (q *Keeper) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.meters)
}
