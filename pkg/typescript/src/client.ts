import { asking, read, type AskRef, type Asking, type End, type Pending } from './ends.js'
import { AskbusError, Http } from './http.js'
import {
  checkNames, envelope, milliseconds, only, question, type AskOptions, type ChoiceField, type ConfirmField, type DateField, type Field, type NumberField,
  type StandardSchema, type TextField, type Value, type Values,
} from './questions.js'
import { webhook, type WebhookRequest } from './webhook.js'
import type { Ask, File, Outcome, Page, Status } from './wire.js'

export interface AskbusOptions {
  /** Default: ASKBUS_HTTP_URL, else http://127.0.0.1:8420. */
  url?: string
  /** Default: ASKBUS_TOKEN ("askbus token issue --session build-42"). */
  token?: string
  /** Default: ASKBUS_SESSION, else the token's only session. */
  session?: string
  /** Only for operators' tokens; default: the token's. */
  tenant?: string
  /** Says who asks, on every ask that does not say it itself. */
  agent?: Ask['agent']
  fetch?: typeof fetch
}

/** How a call waits. */
export interface WaitOptions {
  /** Aborting ends the waiting, with the signal's reason. The ask stays, unless onAbort says otherwise. */
  signal?: AbortSignal
  onAbort?: 'keep' | 'withdraw'
  /** How long to wait, such as "30s" or milliseconds, before the end is { status: "pending" }; 0 returns at once. Default: as long as it takes. */
  wait?: string | number
}

type Options = AskOptions & WaitOptions
type Waiting<O, T> = O extends { wait: string | number } ? Pending<T> : never
type Schema = { schema?: StandardSchema }

const held = 25 // seconds of one request that waits; many proxies cut one after 30 to 60 s without a byte
const mostAskings = 100 // of one question without an id, before its id is random

/** A client of one bus. It holds nothing open between calls; one for a process is enough. */
export class Askbus {
  readonly session: string | undefined
  #tenant: string | undefined
  #agent: Ask['agent']
  #http: Http
  #open = new Set<string>() // ids without a name that this client waits for
  #ended = new Map<string, number>() // of a question without an id: how many askings are known to have ended

  constructor(options: AskbusOptions = {}) {
    const token = options.token ?? variable('ASKBUS_TOKEN')
    if (!token) throw new TypeError('no token: give { token }, or set ASKBUS_TOKEN ("askbus token issue --session build-42" makes one)')
    this.session = (options.session ?? variable('ASKBUS_SESSION')) || undefined
    this.#tenant = options.tenant
    this.#agent = options.agent
    this.#http = new Http(options.url ?? (variable('ASKBUS_HTTP_URL') || 'http://127.0.0.1:8420'), token, options.fetch ?? ((...call) => fetch(...call)))
  }

  /** Lets somebody choose one of the options, or several. The value is the option's id. */
  choose<const O extends ChoiceField & Options & Schema>(text: string, options: O): Asking<Value<O>, Waiting<O, Value<O>>> {
    return this.#single(text, options)
  }

  /** Asks yes or no. */
  confirm<const O extends Omit<ConfirmField, 'kind'> & Options & Schema>(text: string, options?: O): Asking<Value<O & { kind: 'boolean' }>, Waiting<O, boolean>> {
    return this.#single(text, { ...options, kind: 'boolean' })
  }

  /** Asks for a text. */
  text<const O extends Omit<TextField, 'kind'> & Options & Schema>(text: string, options?: O): Asking<Value<O & { kind: 'text' }>, Waiting<O, string>> {
    return this.#single(text, { ...options, kind: 'text' })
  }

  /** Asks for a number. */
  number<const O extends Omit<NumberField, 'kind'> & Options & Schema>(text: string, options?: O): Asking<Value<O & { kind: 'number' }>, Waiting<O, number>> {
    return this.#single(text, { ...options, kind: 'number' })
  }

  /** Asks for a day. The value is YYYY-MM-DD. */
  date<const O extends Omit<DateField, 'kind'> & Options & Schema>(text: string, options?: O): Asking<Value<O & { kind: 'date' }>, Waiting<O, string>> {
    return this.#single(text, { ...options, kind: 'date' })
  }

  /** Asks up to 16 questions, which are answered together. The value has an answer for each name. */
  form<const F extends Record<string, Field>, const O extends Options & Schema>(fields: F, options?: O): Asking<Values<F, O>, Waiting<O, Values<F, O>>> {
    const names = Object.keys(fields)
    if (names.length === 1 && names[0] === only) throw new TypeError(`a form with the one question "${only}" is that of text, choose and so on; give it another name`)
    for (const name of names) checkNames(fields[name]!, 'field')
    checkNames(options ?? {}, 'ask')
    return this.#start(names.map((name) => question(name, fields[name]!.text, fields[name]!)), options ?? {})
  }

  /** Asks in the protocol's own JSON. The value is a record of the answers by the questions' ids. */
  ask<T = Record<string, unknown>, const O extends WaitOptions & { schema?: StandardSchema<T> } = {}>(ask: Omit<Ask, 'id'> & { id?: string }, options?: O): Asking<T, Waiting<O, T>> {
    const { id, questions, ...rest } = ask
    return asking(this.#run(id, { ...rest, questions }, options ?? {})) as Asking<T, Waiting<O, T>>
  }

  /** Waits for an ask, from any process: by what "ask" of an end or of a pending ask says, or by its id. */
  wait<T = unknown, const O extends WaitOptions & { schema?: StandardSchema<T> } = {}>(ask: AskRef<T> | string, options?: O): Asking<T, Waiting<O, T>> {
    const waiting = async () => {
      const at = await this.#place(ask, options?.signal)
      return this.#withdrawing(options ?? {}, at, () => this.#wait<T>(at, options ?? {}))
    }
    return asking(waiting()) as Asking<T, Waiting<O, T>>
  }

  /** Takes an ask back. People read the reason. If it had ended otherwise, the result says how. */
  async withdraw(ask: AskRef | string, reason?: string, { signal }: { signal?: AbortSignal } = {}): Promise<End<unknown>> {
    const at = await this.#place(ask, signal)
    try {
      const { body } = await this.#http.call('DELETE', path(at), { query: { tenant: at.tenant ?? this.#tenant, reason }, signal })
      return await read(body as Outcome)
    } catch (error) {
      if (error instanceof AskbusError && error.outcome) return read(error.outcome)
      throw error
    }
  }

  /** Uploads a file. The result goes into files of an ask, or is the file of an option. */
  async upload(data: Uint8Array | Blob | string, name?: string, { signal }: { signal?: AbortSignal } = {}): Promise<File> {
    const body = data instanceof Uint8Array ? data : new Uint8Array(await new Blob([data]).arrayBuffer())
    return (await this.#http.call('POST', '/v1/files', { query: { session: this.session, tenant: this.#tenant, name }, body, signal })).body
  }

  /** Reads a file by its id, such as a screenshot in an answer of the outcome. */
  async file(id: string, { session = this.session, signal }: { session?: string; signal?: AbortSignal } = {}): Promise<Uint8Array> {
    return (await this.#http.call('GET', `/v1/files/${encodeURIComponent(id)}`, { query: { session, tenant: this.#tenant }, raw: true, signal })).body
  }

  /** The asks of the session, or of all that the token may see, page by page as they are read. */
  async *list({ state, session = this.session, signal }: { state?: 'pending' | 'resolved'; session?: string; signal?: AbortSignal } = {}): AsyncGenerator<Page['items'][number]> {
    let cursor: string | undefined
    do {
      const { body } = await this.#http.call('GET', '/v1/asks', { query: { state, session, tenant: this.#tenant, cursor }, signal })
      yield* (body as Page).items
      cursor = (body as Page).next
    } while (cursor)
  }

  /**
   * Asks in the shape of another tool (docs/http.md lists the dialects) and resolves to the answer in that shape. The
   * same id again is the same ask. The adapters are made of it.
   */
  async relay<T = any>(dialect: string, request: unknown, { id, signal, onAbort }: { id: string } & Omit<WaitOptions, 'wait'>): Promise<T> {
    const key = await token(id)
    const post = async () => {
      for (let hold = 1, patience = 30_000; ; hold = held, patience = Infinity) { // once it is stored, a proxy that cuts waits is no failure
        const query = { dialect, wait: `${hold}s`, session: this.session, tenant: this.#tenant }
        const { status, body } = await this.#http.call('POST', '/v1/asks', { query, key, body: request, signal, hold: hold * 1000, patience })
        if (status !== 202) return body as T
      }
    }
    return this.#withdrawing({ ...(signal ? { signal } : {}), ...(onAbort ? { onAbort } : {}) }, key, post)
  }

  /** Verifies a request that the bus sent, by Standard Webhooks. See webhook. */
  webhook<T = unknown>(request: Request | WebhookRequest, secret: string | readonly string[]) {
    return webhook<T>(request, secret)
  }

  #single(text: string, options: any): any {
    checkNames(options ?? {}, 'both')
    return this.#start([question(only, text, options)], options)
  }

  #start(questions: Ask['questions'], options: Options & Schema): any {
    return asking(this.#run(options.id, { ...envelope(options), questions }, options))
  }

  async #run(id: string | undefined, ask: Omit<Ask, 'id'>, options: WaitOptions & Schema): Promise<End<any> | Pending<any>> {
    if (this.#agent && !ask.agent) ask = { ...ask, agent: this.#agent }
    const own = id === undefined ? undefined : await token(id)
    let at: AskRef | string | undefined = own
    const { key, status } = own ? { key: own, status: await this.#withdrawing(options, own, () => this.#post(own, ask, options)) } : await this.#unnamed(ask, options)
    at = { session: status.session ?? this.session ?? 'cli', id: status.ask_id, ...(status.tenant ? { tenant: status.tenant } : {}) }
    try {
      if (status.outcome) return await read(status.outcome, ask, options.schema)
      if (options.wait !== undefined && milliseconds(options.wait) === 0) return { status: 'pending', ask: at }
      return await this.#withdrawing(options, at, () => this.#wait(at as AskRef, options, ask))
    } finally {
      this.#open.delete(key)
    }
  }

  async #post(id: string, ask: Omit<Ask, 'id'>, { signal }: WaitOptions): Promise<Status> {
    return (await this.#http.call('POST', '/v1/asks', { query: { session: this.session, tenant: this.#tenant }, body: { id, ...ask }, signal })).body
  }

  /**
   * Asks under an id that follows from the ask: a process that was restarted comes to the same one, and attaches to its
   * open ask. One that has ended is not an answer to this call: then the next number is asked.
   */
  async #unnamed(ask: Omit<Ask, 'id'>, options: WaitOptions): Promise<{ key: string; status: Status }> {
    const base = `auto-${(await sha256(JSON.stringify([this.#tenant, this.session, ask]))).slice(0, 32)}`
    for (let n = this.#ended.get(base) ?? 0; ; n++) {
      const key = `${base}-${n < mostAskings ? n : crypto.randomUUID()}`.slice(0, 64)
      if (this.#open.has(key)) continue
      this.#open.add(key)
      let status: Status | undefined
      try {
        status = await this.#withdrawing(options, key, () => this.#post(key, ask, options))
        if (status.created || !status.outcome) return { key, status }
      } finally {
        if (!status || (!status.created && status.outcome)) this.#open.delete(key)
      }
      if (this.#ended.size >= 1000) this.#ended.clear()
      this.#ended.set(base, n + 1)
    }
  }

  async #wait<T>(at: AskRef, { wait, signal, schema }: WaitOptions & { schema?: StandardSchema }, asked?: Pick<Ask, 'questions'>): Promise<End<T> | Pending<T>> {
    const until = wait === undefined ? Infinity : Date.now() + milliseconds(wait)
    for (;;) {
      const left = Math.max(0, until - Date.now())
      const hold = Math.min(held * 1000, left)
      const query = { tenant: at.tenant ?? this.#tenant, wait: wait !== undefined && left === 0 ? undefined : `${Math.ceil(hold)}ms` }
      const { body } = await this.#http.call('GET', path(at), { query, signal, hold, patience: wait === undefined ? Infinity : Math.max(left, 5_000) })
      const outcome: Outcome | undefined = body.outcome ?? (body.status ? body : undefined)
      if (outcome) return read(outcome, (body as Status).ask ?? asked, schema as StandardSchema<T>)
      if (Date.now() >= until) return { status: 'pending', ask: at as AskRef<T> }
    }
  }

  /** Runs a wait. If it was aborted, and the options say so, the ask is withdrawn before that is thrown. */
  async #withdrawing<T>({ signal, onAbort }: WaitOptions, at: AskRef | string, run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      if (signal?.aborted && onAbort === 'withdraw') await this.withdraw(at, 'the agent was interrupted').catch(() => {}) // it then ends at its deadline
      throw error
    }
  }

  /** Where an ask is. Without a session in the reference or the client, the bus is asked. */
  async #place(ask: AskRef | string, signal?: AbortSignal): Promise<AskRef> {
    if (typeof ask !== 'string') return ask
    const id = await token(ask)
    if (this.session) return { session: await token(this.session), id }
    const { body } = await this.#http.call('GET', '/v1/asks', { query: { id, tenant: this.#tenant }, signal })
    const [item] = (body as Page).items
    if (item) return { session: item.session, id, tenant: item.tenant }
    throw new AskbusError({ status: 404, code: 'not_found', detail: `no ask ${ask}` })
  }
}

/** An environment variable, where there is an environment and it may be read. */
function variable(name: string): string | undefined {
  try {
    return (globalThis as any).process?.env?.[name]
  } catch {
    return undefined // Deno without --allow-env
  }
}

const path = ({ session, id }: AskRef) => `/v1/asks/${encodeURIComponent(session)}/${encodeURIComponent(id)}`

export async function sha256(text: string): Promise<string> {
  const sum = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(sum)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Maps any text to an id of the protocol, as the bus does: the text itself, or a part of it and 8 digits of its hash. */
async function token(text: string): Promise<string> {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(text)) return text
  const slug = text.replace(/^[^A-Za-z0-9_-]+/, '').replace(/-?[^A-Za-z0-9_-]+/g, '-').slice(0, 55).replace(/^-+|-+$/g, '')
  return (slug && `${slug}-`) + (await sha256(text)).slice(0, 8)
}
