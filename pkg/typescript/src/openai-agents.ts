// The OpenAI Agents SDK: people approve the tool calls at which a run was interrupted.
import { permission, refusal } from './claude.js'
import { Askbus } from './client.js'
import { AskbusError } from './http.js'

interface Item { agent: { name: string }; name?: string; rawItem: { type?: string; callId?: string; id?: string; name?: string; status?: string; providerData?: unknown; arguments?: string } }
interface Result<State> { interruptions: readonly Item[]; state: State }
interface Decides { approve(item: any): void; reject(item: any, options?: { message?: string }): void }

/**
 * Asks people about every interruption, at once, and returns the run's state with what they decided: run it again. The
 * id of a call is that of its ask, so a run that is restored from its state does not ask twice. A call about which the bus
 * asks nobody is rejected. While the bus cannot be reached it throws: call it again with the same result.
 */
export async function decide<State extends Decides>(result: { interruptions: readonly any[]; state: State }, { bus = new Askbus(), signal }: { bus?: Askbus; signal?: AbortSignal } = {}): Promise<State> {
  const { interruptions, state } = result as Result<State>
  await Promise.all(interruptions.map(async (item) => {
    const { type, callId, id, name = item.name ?? type, status, providerData, arguments: given, ...rest } = item.rawItem
    try {
      const end = await bus.confirm(`May ${item.agent.name} call ${name}?`, {
        id: (callId ?? id)!, ...await permission(bus, 'openai-agents', given ?? rest), ...(signal ? { signal } : {}), // a shell's or a patch's call has no arguments
      })
      if (end.status === 'answered' && end.value) state.approve(item)
      else state.reject(item, { message: refusal(end) })
    } catch (error) {
      if (!(error instanceof AskbusError) || error.code === 'unavailable') throw error
      state.reject(item, { message: `Nobody decided: ${error.message}` })
    }
  }))
  return state
}
