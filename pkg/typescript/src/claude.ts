// The Claude Agent SDK: people answer the agent's questions and permit its tools.
import { Askbus } from './client.js'
import { AskbusError } from './http.js'
import type { File } from './wire.js'

export type ToolInput = Record<string, unknown>
export type Permission = { behavior: 'allow'; updatedInput: ToolInput } | { behavior: 'deny'; message: string }
export interface ToolContext { signal?: AbortSignal; toolUseID?: string; description?: string }
export type CanUseTool = (name: string, input: ToolInput, context: ToolContext) => Promise<Permission>

/**
 * The option canUseTool of the SDK. AskUserQuestion is answered by people; for every other tool people are asked whether
 * it may run, unless you give a rule of your own. When the host interrupts the agent, the question is withdrawn.
 */
export function canUseTool({ bus = new Askbus(), other }: { bus?: Askbus; other?: CanUseTool } = {}): CanUseTool {
  return async (name, input, context) => {
    const { signal, toolUseID: id = crypto.randomUUID(), description } = context ?? {}
    const options = { id, onAbort: 'withdraw' as const, ...(signal ? { signal } : {}) }
    if (name !== 'AskUserQuestion' && other) return other(name, input, context)
    try {
      if (name === 'AskUserQuestion') {
        const { answers, annotations, text } = await bus.relay('claude-code', input, options)
        return Object.keys(answers ?? {}).length ? { behavior: 'allow', updatedInput: { ...input, answers, annotations } } : { behavior: 'deny', message: text }
      }
      const end = await bus.confirm(`May the agent use ${name}?`, { ...options, ...await permission(bus, 'claude-agent-sdk', input, description) })
      return end.status === 'answered' && end.value ? { behavior: 'allow', updatedInput: input } : { behavior: 'deny', message: refusal(end) }
    } catch (error) {
      if (error instanceof AskbusError) return { behavior: 'deny', message: `Nobody decided: ${error.message}` }
      throw error
    }
  }
}

/** Why the answer is no, for the model. */
export function refusal(end: { status: string; note?: string; reason?: string; response?: string }): string {
  return end.note ?? end.reason ?? end.response ?? `The answer is no (${end.status}).`
}

/**
 * What an ask needs in which people permit a call: all that the tool gets, as code, because Markdown would hide some of it. What is too
 * long for a card is whole in a file. The mark, with the name of your framework, keeps chats from offering what they cannot show.
 */
export async function permission(bus: Askbus, framework: string, value: unknown, why = ''): Promise<{ context: string; files: File[]; metadata: Record<string, unknown> }> {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2) ?? ''
  const parts = [why], files = []
  let shown = text
  if (text.length > shownWhole) {
    files.push(await bus.upload(text, 'call.txt'))
    parts.push('This is too long to be shown whole here. All of it is in the file `call.txt`: read it before you permit it.')
    const [first, last] = [text.slice(0, shownWhole / 2).replace(/[\uD800-\uDBFF]$/, ''), text.slice(-shownWhole / 2).replace(/^[\uDC00-\uDFFF]/, '')] // half a character is no text
    shown = `${first}\n… ${text.length - first.length - last.length} characters are left out …\n${last}`
  }
  const fence = '`'.repeat(Math.max(3, ...Array.from(shown.matchAll(/`+/g), ([run]) => run.length + 1)))
  parts.push(`${fence}\n${shown}\n${fence}`)
  return { context: parts.filter(Boolean).join('\n\n'), files, metadata: { askbus_permission: framework } }
}

const shownWhole = 20_000
