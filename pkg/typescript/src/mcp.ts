// An MCP client whose servers' elicitations are answered by people.
import { Askbus } from './client.js'

interface ElicitRequest { params: { mode?: string | undefined; message: string } }
export interface ElicitResult { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, any> }

/**
 * The handler for elicitation/create: client.setRequestHandler('elicitation/create', elicitation()), or with
 * ElicitRequestSchema in version 1 of the SDK. A request to open a URL is declined, because only the client's own person
 * can open it. When the server cancels, the question is withdrawn.
 */
export function elicitation({ bus = new Askbus() }: { bus?: Askbus } = {}) {
  return async ({ params }: ElicitRequest, extra?: { signal?: AbortSignal; mcpReq?: { signal?: AbortSignal } }): Promise<ElicitResult> => {
    if (params.mode === 'url') return { action: 'decline' }
    const signal = extra?.signal ?? extra?.mcpReq?.signal
    return bus.relay('elicitation', params, { id: crypto.randomUUID(), onAbort: 'withdraw', ...(signal ? { signal } : {}) })
  }
}
