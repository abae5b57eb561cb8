// The requests to the bus, and when they are sent again.
import type { Outcome, Problem } from './wire.js'

/** A refusal by the bus, or that it could not be reached. */
export class AskbusError extends Error {
  override name = 'AskbusError'
  /** The HTTP status; 0 when nothing answered. */
  status: number
  /** Such as "invalid", "forbidden", "not_found", "id_reused", "nobody_there"; "unavailable" when nothing answered. */
  code: string
  /** Every fault, with its JSON pointer into the ask. */
  errors: NonNullable<Problem['errors']>
  /** The outcome that counts, when the ask had ended otherwise. */
  outcome?: Outcome

  constructor(problem: Partial<Problem> & { detail: string }, options?: ErrorOptions) {
    const faults = (problem.errors ?? []).filter(({ pointer, detail }) => pointer || detail !== problem.detail).map(({ pointer, detail }) => (pointer ? `${pointer}: ${detail}` : detail))
    super(faults.length ? `${problem.detail}: ${faults.join('; ')}` : problem.detail, options)
    this.status = problem.status ?? 0
    this.code = problem.code ?? 'unavailable'
    this.errors = problem.errors ?? []
    if (problem.outcome) this.outcome = problem.outcome
  }
}

export interface Call {
  query?: Record<string, string | undefined>
  /** What is sent as JSON; bytes are sent as they are. */
  body?: unknown
  /** Whether the reply is bytes. */
  raw?: boolean
  /** The id of an ask whose body has no place for one. */
  key?: string
  signal?: AbortSignal | undefined
  /** For how many milliseconds an unreachable bus is tried again. */
  patience?: number
  /** For how many milliseconds the bus itself may hold the request. */
  hold?: number
}

export interface Reply { status: number; body: any }

const answerLimit = 15_000 // milliseconds in which a request is answered, beside the time for which it is held
const firstPause = 250
const longestPause = 5_000

export class Http {
  #base: string
  #token: string
  #fetch: typeof fetch

  constructor(base: string, token: string, doFetch: typeof fetch) {
    if (!/^https?:\/\//.test(base)) throw new TypeError(`invalid address ${JSON.stringify(base)}: use one such as http://127.0.0.1:8420`)
    this.#base = base.replace(/\/+$/, '')
    this.#token = token
    this.#fetch = doFetch
  }

  /**
   * Sends a request, and again while the bus is away: after no response, 408, 429, 502, 503 and 504. Every request of
   * this package may be repeated. 503 with nobody_there is an answer: nobody is at a screen. All else is an AskbusError.
   */
  async call(method: string, path: string, { query = {}, body, raw, key, signal, patience = 30_000, hold = 0 }: Call = {}): Promise<Reply> {
    const url = new URL(this.#base + path)
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value)
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}`, accept: 'application/json' }
    if (key !== undefined) headers['idempotency-key'] = key
    const bytes = body instanceof Uint8Array
    if (body !== undefined) headers['content-type'] = bytes ? 'application/octet-stream' : 'application/json'
    const until = Date.now() + patience
    for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
      signal?.throwIfAborted()
      let failure: AskbusError
      let after = 0
      try {
        const { response, data } = await this.#once(url, { method, headers, ...(body === undefined ? {} : { body: bytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }) }, hold + answerLimit, signal)
        const reply = raw && response.ok ? data : parse(new TextDecoder().decode(data))
        if (response.ok && reply !== undefined) return { status: response.status, body: reply }
        failure = refusal(response, reply)
        if (![408, 429, 502, 503, 504].includes(response.status) || failure.code === 'nobody_there') throw failure
        after = 1000 * (Number(response.headers.get('retry-after')) || 0)
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof AskbusError) throw error
        failure = new AskbusError({ detail: `the bus at ${this.#base} does not answer` }, { cause: error })
      }
      const wait = Math.max(Math.min(after, longestPause), pause * (0.75 + Math.random() / 2))
      if (Date.now() + wait > until) throw failure
      await sleep(wait, signal)
    }
  }

  /** One request. It is given up when the signal says so, or after limit milliseconds. */
  async #once(url: URL, init: RequestInit, limit: number, signal?: AbortSignal) {
    const stop = new AbortController()
    const abort = () => stop.abort(signal?.reason)
    signal?.addEventListener('abort', abort)
    const timer = setTimeout(() => stop.abort(new Error(`no response in ${limit / 1000} s`)), limit)
    try {
      const response = await this.#fetch(url, { ...init, redirect: 'manual', signal: stop.signal }) // followed, a POST becomes a GET
      return { response, data: new Uint8Array(await response.arrayBuffer()) }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }
}

function parse(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // a proxy's page
  }
}

function refusal(response: Response, problem: any): AskbusError {
  if (typeof problem?.detail === 'string') return new AskbusError(problem)
  const to = response.headers.get('location')
  return new AskbusError({ status: response.status, code: response.ok ? 'internal' : 'unavailable', detail: `the response is not of askbus: ${response.status} ${to ? `to ${to}` : response.statusText}`.trim() })
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => (clearTimeout(timer), reject(signal?.reason))
    const timer = setTimeout(() => (signal?.removeEventListener('abort', abort), resolve()), ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
