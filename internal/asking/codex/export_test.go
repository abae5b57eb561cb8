package codex

// Remembered returns how many threads and items are remembered.
func (p *Protocol) Remembered() (threads, items int) { return p.threads.Len(), p.items.Len() }
