// The AI SDK: people approve or deny the calls of tools with needsApproval.
import { Askbus } from './client.js'

interface Message { role: string; content: unknown }
interface Part { type?: string; approvalId?: string; isAutomatic?: boolean }

const parts = (message?: Message) => (Array.isArray(message?.content) ? message.content : []) as Part[]

/**
 * The tool message with the approvals that the model's last message asks for, or undefined if it asks for none. Append it,
 * and generate again.
 */
export async function approvals(messages: readonly Message[], { bus = new Askbus(), signal }: { bus?: Askbus; signal?: AbortSignal } = {}): Promise<{ role: 'tool'; content: any[] } | undefined> {
  let at = messages.length - 1
  while (messages[at]?.role === 'tool') at-- // what calls beside it returned, and what rules of the program decided
  const decided = new Set(messages.slice(at + 1).flatMap(parts).map(({ approvalId }) => approvalId))
  const open = ({ approvalId, isAutomatic }: Part) => !isAutomatic && !decided.has(approvalId)
  const content = parts(messages[at]).filter((part) => part.type !== 'tool-approval-request' || open(part))
  const request = content.find(({ type }) => type === 'tool-approval-request')
  if (!request) return undefined
  return { role: 'tool', content: await bus.relay('ai-sdk', content, { id: request.approvalId!, ...(signal ? { signal } : {}) }) }
}
