// A permission callback for an agent SDK in TypeScript: the questions that the agent asks with AskUserQuestion are
// answered by people through askbus, on whatever screen they sit at. Every other tool goes to your own rule.
//
//   import { query } from '<your agent SDK>'
//   import { askbusCallback } from './askbus-callback.ts'
//
//   query({ prompt, options: { canUseTool: askbusCallback({ session: 'build-42' }) } })
//
// ASKBUS_HTTP_URL (such as http://127.0.0.1:8420) and ASKBUS_TOKEN ("askbus token issue --session build-42") say where the
// bus is. There is no time limit of ours: the callback may wait for hours, and asks again while the bus is away. When
// the host cancels, the ask is withdrawn, so that nobody answers what is not wanted any more.

declare const process: { env: Record<string, string | undefined> } // so that it needs no types of Node

export type Input = Record<string, unknown>

export type Decision =
  | { behavior: 'allow'; updatedInput: Input }
  | { behavior: 'deny'; message: string; interrupt?: boolean }

export type Context = { signal?: AbortSignal; toolUseID?: string }

export type Callback = (toolName: string, input: Input, context: Context) => Promise<Decision>

export type Options = {
  url?: string // default: ASKBUS_HTTP_URL, else http://127.0.0.1:8420
  token?: string // default: ASKBUS_TOKEN
  session?: string // default: ASKBUS_SESSION, else "sdk"
  wait?: number // seconds of one request; it is repeated until the ask ends; default 50
  other?: Callback // for all other tools; default: allow
  pause?: (attempt: number) => Promise<void> // while the bus is away; default: 1 s, 2 s, 4 s … 30 s
}

const sleep = (attempt: number) => new Promise<void>((done) => setTimeout(done, Math.min(1000 * 2 ** attempt, 30_000)))

export function askbusCallback(options: Options = {}): Callback {
  const base = (options.url ?? process.env.ASKBUS_HTTP_URL ?? 'http://127.0.0.1:8420').replace(/\/+$/, '')
  const token = options.token ?? process.env.ASKBUS_TOKEN ?? ''
  const session = options.session ?? process.env.ASKBUS_SESSION ?? 'sdk'
  const pause = options.pause ?? sleep
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Askbus-Session': session }

  const withdraw = async (id: string) => {
    await fetch(`${base}/v1/asks/${session}/${id}`, {
      method: 'DELETE', headers, body: JSON.stringify({ reason: 'the agent was interrupted' }),
    }).catch(() => undefined) // it then ends at its deadline
  }

  return async (toolName, input, { signal, toolUseID } = {}) => {
    if (toolName !== 'AskUserQuestion') {
      return options.other ? options.other(toolName, input, { signal, toolUseID }) : { behavior: 'allow', updatedInput: input }
    }
    // The same id again is the same ask: repeating a request never asks twice.
    const id = (toolUseID ?? crypto.randomUUID()).replace(/[^A-Za-z0-9_-]/g, '-').slice(0, 64)
    const body = JSON.stringify({ tool_name: toolName, tool_use_id: id, session_id: session, input })
    for (let attempt = 0; ; ) {
      if (signal?.aborted) {
        await withdraw(id)
        return { behavior: 'deny', message: 'The question was withdrawn: the agent was interrupted.' }
      }
      try {
        const response = await fetch(`${base}/v1/permission`, {
          method: 'POST', headers: { ...headers, 'Askbus-Wait': `${options.wait ?? 50}s` }, body, signal,
        })
        const answer = await response.json()
        if (response.ok && (answer.behavior === 'allow' || answer.behavior === 'deny')) return answer
        if (response.status >= 400 && response.status < 500 && response.status !== 429 && response.status !== 408) {
          return { behavior: 'deny', message: `Nobody was asked: ${answer.detail ?? response.statusText}` }
        }
        if (response.status === 202 || response.status === 504) {
          attempt = 0
          continue // still pending
        }
      } catch (error) {
        if (signal?.aborted) continue
      }
      await pause(attempt++) // the bus is away; the ask, if it is stored, stays
    }
  }
}
