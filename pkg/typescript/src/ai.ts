// The AI SDK: people approve or deny the calls of tools with needsApproval.
import { Askbus } from './client.js'

interface Message { role: string; content: unknown }
interface Part { type?: string; approvalId?: string }

/**
 * The tool message with the approvals that the last message asks for, or undefined if it asks for none. Append it, and
 * generate again.
 */
export async function approvals(messages: readonly Message[], { bus = new Askbus(), signal }: { bus?: Askbus; signal?: AbortSignal } = {}): Promise<{ role: 'tool'; content: any[] } | undefined> {
  const content = messages.at(-1)?.content
  const request = Array.isArray(content) ? (content as Part[]).find(({ type }) => type === 'tool-approval-request') : undefined
  if (!request) return undefined
  return { role: 'tool', content: await bus.relay('ai-sdk', content, { id: request.approvalId!, ...(signal ? { signal } : {}) }) }
}
