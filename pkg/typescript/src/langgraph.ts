// LangGraph and LangChain's human-in-the-loop middleware: people decide, and Command({ resume }) goes on.
import { Askbus, sha256 } from './client.js'

export interface Interrupt { id?: string; value?: unknown }

/** The decisions about the interrupts of a paused graph, by their ids: what Command resumes it with. */
export async function decisions(interrupts: readonly Interrupt[], { bus = new Askbus(), signal }: { bus?: Askbus; signal?: AbortSignal } = {}): Promise<Record<string, any>> {
  const id = interrupts[0]?.id
  if (!id) throw new TypeError('the interrupts have no id; give state.__interrupt__')
  const said = await sha256(JSON.stringify(interrupts.map(({ value }) => value))) // LangGraph for Python gives all interrupts of one task one id
  return bus.relay('langchain', interrupts, { id: `${id}-${said.slice(0, 8)}`, ...(signal ? { signal } : {}) })
}
