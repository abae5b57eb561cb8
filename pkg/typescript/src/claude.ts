// The Claude Agent SDK: people answer the agent's questions and permit its tools.
import { Askbus } from './client.js'
import { AskbusError } from './http.js'

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
      const end = await bus.confirm(`May the agent use ${name}?`, { ...options, context: [description, code(input)].filter(Boolean).join('\n\n') })
      return end.status === 'answered' && end.value ? { behavior: 'allow', updatedInput: input } : { behavior: 'deny', message: refusal(end) }
    } catch (error) {
      if (error instanceof AskbusError) return { behavior: 'deny', message: `Nobody was asked: ${error.message}` }
      throw error
    }
  }
}

/** Why the answer is no, for the model. */
export function refusal(end: { status: string; note?: string; reason?: string; response?: string }): string {
  return end.note ?? end.reason ?? end.response ?? `The answer is no (${end.status}).`
}

/** What a tool gets, for people: as code, because Markdown would hide some of it. Of a long one the beginning and the end. */
export function code(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  const shown = text.length <= shownWhole ? text : `${text.slice(0, shownWhole / 2)}\n… ${text.length - shownWhole} characters are left out …\n${text.slice(-shownWhole / 2)}`
  const fence = '`'.repeat(Math.max(3, ...Array.from(shown.matchAll(/`+/g), ([run]) => run.length + 1)))
  return `${fence}\n${shown}\n${fence}`
}

const shownWhole = 20_000
