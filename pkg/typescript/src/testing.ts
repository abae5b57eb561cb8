// A test double: an Askbus whose people answer from a script, without a bus and a network.
import { Askbus } from './client.js'
import { milliseconds } from './questions.js'
import { parseReply } from './reply.js'
import type { Answer, Ask, Outcome, Question } from './wire.js'

/** How a person answers a question: the format of pkg/askbustest. */
export interface Rule {
  /** The question's id or exact text; left out: any question. */
  question?: string
  /** The answer as a person types it: an option's label, id or number (several separated by commas), yes or no, a number, a date, or a text. */
  say?: string
  /** A note on the answer. */
  notes?: string
  /** Decline the whole ask, with say as the reason. */
  decline?: boolean
}

interface Entry { ask: Ask; session: string; askedAt: number; deadline: number; outcome?: Outcome; ended: Promise<void>; end(outcome: Outcome): void }

/**
 * Answers every ask whose questions all have a rule; the first rule of a question counts. An ask with a question that no
 * rule matches stays pending until answer, or its timeout. An answer that its question does not allow rejects the call.
 */
export class FakeAskbus extends Askbus {
  /** Everything that was asked, the oldest first, in the protocol's JSON. */
  readonly asked: Ask[] = []
  #rules: readonly Rule[]
  #asks = new Map<string, Entry>()

  constructor(rules: readonly Rule[] = []) {
    super({ url: 'http://fake.askbus', token: 'fake', session: 'test', fetch: (url, init) => this.#handle(new URL(String(url)), init ?? {}) })
    this.#rules = rules
  }

  /** Answers a pending ask by these rules now: that of this id, or every one. */
  answer(rules: readonly Rule[], id?: string): void {
    for (const entry of this.#asks.values()) if (!entry.outcome && (id === undefined || id === entry.ask.id)) this.#play(rules, entry)
  }

  async #handle(url: URL, init: RequestInit): Promise<Response> {
    const [, , , session = this.session!, id] = url.pathname.split('/')
    const wait = url.searchParams.get('wait')
    if (url.pathname.startsWith('/v1/files')) return this.#file(url, init)
    if (init.method === 'POST' && !url.searchParams.has('dialect')) return this.#ask(JSON.parse(String(init.body)), session)
    if (init.method === 'GET' && !id) return this.#list(url.searchParams.get('state'))
    const entry = this.#asks.get(`${session}/${id}`)
    if (!entry) return problem(init.method === 'POST' ? 501 : 404, init.method === 'POST' ? 'invalid' : 'not_found', init.method === 'POST' ? 'FakeAskbus speaks no dialects' : `no ask ${id}`)
    if (init.method === 'DELETE') {
      if (entry.outcome && entry.outcome.status !== 'withdrawn') return problem(409, 'already_resolved', 'the ask has ended', entry.outcome)
      const reason = url.searchParams.get('reason')
      entry.end(this.#outcome(entry, { status: 'withdrawn', ...(reason ? { reason } : {}) }))
      return json(200, entry.outcome)
    }
    if (!entry.outcome && wait) await limited(entry.ended, Math.min(parseInt(wait), entry.deadline - Date.now()), init.signal)
    if (!entry.outcome && Date.now() >= entry.deadline) this.#expire(entry)
    return entry.outcome && wait ? json(200, entry.outcome) : json(wait ? 202 : 200, this.#status(entry))
  }

  async #file(url: URL, init: RequestInit): Promise<Response> {
    const [, , , id] = url.pathname.split('/')
    if (init.method === 'GET') {
      const found = this.#files.get(id!)
      return found ? new Response(found) : problem(404, 'not_found', 'no such file')
    }
    const data = init.body as Uint8Array<ArrayBuffer>
    const sum = [...new Uint8Array(await crypto.subtle.digest('SHA-256', data))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
    this.#files.set(sum, data)
    const head = String.fromCharCode(...data.subarray(0, 4))
    const media_type = head === '\x89PNG' ? 'image/png' : head.startsWith('\xff\xd8\xff') ? 'image/jpeg' : head === 'RIFF' ? 'image/webp' : head === '%PDF' ? 'application/pdf' : 'text/plain'
    return json(201, { id: sum, name: url.searchParams.get('name') ?? '', media_type, size: data.length })
  }

  #files = new Map<string, Uint8Array<ArrayBuffer>>()

  #ask(ask: Ask, session: string): Response {
    if (!Array.isArray(ask.questions) || ask.questions.length < 1 || ask.questions.length > 16) return problem(400, 'invalid', 'an ask has 1 to 16 questions')
    const body = JSON.stringify(ask)
    ask.questions.forEach((q, i) => {
      q.id ??= `q${i + 1}`
      q.kind ??= q.options?.length ? 'choice' : 'text'
      q.options?.forEach((o, j) => (o.id ??= `o${j + 1}`))
    })
    const known = this.#asks.get(`${session}/${ask.id}`)
    if (known) return this.#bodies.get(known) === body ? json(200, { ...this.#status(known), created: false }) : problem(409, 'id_reused', `another ask has the id ${ask.id}`)
    let end!: () => void
    const ended = new Promise<void>((resolve) => (end = resolve))
    const entry: Entry = { ask, session, askedAt: Date.now(), deadline: Date.now() + milliseconds(ask.timeout ?? '720h'), ended, end: (outcome) => ((entry.outcome ??= outcome), end()) }
    this.#bodies.set(entry, body)
    this.#asks.set(`${session}/${ask.id}`, entry)
    this.asked.push(ask)
    try {
      this.#play(this.#rules, entry)
    } catch (error) {
      this.#asks.delete(`${session}/${ask.id}`)
      return problem(400, 'invalid', (error as Error).message)
    }
    return json(201, { ...this.#status(entry), created: true })
  }

  #bodies = new WeakMap<Entry, string>()

  #play(rules: readonly Rule[], entry: Entry): void {
    const found = entry.ask.questions.map((q) => ({ q, rule: rules.find(({ question: at }) => !at || at === q.id || at.trim() === q.text) }))
    const answers: Answer[] = []
    for (const { q, rule } of found) {
      if (!rule) return
      if (rule.decline) return entry.end(this.#outcome(entry, { status: 'cancelled', by: mei, ...(rule.say ? { reason: rule.say } : {}) }))
      answers.push({ ...parse(q, rule.say ?? ''), ...(rule.notes ? { notes: rule.notes } : {}) })
    }
    for (const { question_id, selected } of answers) {
      const cancels = entry.ask.questions.find(({ id }) => id === question_id)?.options?.find((o) => o.cancels && selected?.includes(o.id!))
      if (cancels) return entry.end(this.#outcome(entry, { status: 'cancelled', by: mei, cancelled_by: { question_id, option_id: cancels.id! } }))
    }
    entry.end(this.#outcome(entry, { status: 'answered', source: 'human', answer_id: crypto.randomUUID(), answers, by: mei }))
  }

  #expire(entry: Entry): void {
    const { questions, at_deadline } = entry.ask
    const answers = questions.map((q) => {
      const field = q.kind === 'choice' ? 'selected' : q.kind!
      return { question_id: q.id!, ...(q.default === undefined ? { skipped: true } : { [field]: q.default }) }
    })
    entry.end(this.#outcome(entry, { status: 'expired', ...(at_deadline === 'default' ? { source: 'default', answers } : {}) }))
  }

  #outcome({ ask, session, askedAt }: Entry, how: Partial<Outcome> & Pick<Outcome, 'status'>): Outcome {
    return { ask_id: ask.id, tenant: 'default', session, answers: [], at: new Date().toISOString(), waited_ms: Date.now() - askedAt, ask, ...how }
  }

  #status({ ask, session, outcome }: Entry) {
    return { state: outcome ? 'resolved' : 'pending', ask_id: ask.id, tenant: 'default', session, present: ['test'], ask, ...(outcome ? { outcome } : {}) }
  }

  #list(state: string | null): Response {
    const items = [...this.#asks.values()].map((entry) => this.#status(entry)).filter((item) => !state || item.state === state)
    return json(200, { items })
  }
}

const mei = { principal: 'test:mei', name: 'Mei', proof: 'test', responder: 'test' }

function parse(q: Question, say: string): Answer {
  try {
    return parseReply(q, say)
  } catch (error) {
    throw new Error(`the rule for question ${q.id}: ${(error as Error).message}`)
  }
}

function json(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
}

function problem(status: number, code: string, detail: string, outcome?: Outcome): Response {
  return json(status, { type: 'about:blank', title: code, status, code, detail, ...(outcome ? { outcome } : {}) })
}

function limited(ended: Promise<void>, ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason)))
    void ended.then(() => (clearTimeout(timer), resolve()))
  })
}
