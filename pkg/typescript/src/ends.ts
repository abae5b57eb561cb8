// How an ask ends. A person's refusal, or that nobody came, is a value and no exception.
import { only, type Issue, type Other, type StandardSchema } from './questions.js'
import type { Ask, Answer, By, Outcome } from './wire.js'

/** Where an ask is: enough to wait for it or withdraw it later, in another process. It is plain JSON. */
export interface AskRef<T = unknown> {
  session: string
  id: string
  tenant?: string
  /** Only a type: that of the answer. */
  readonly __value?: T
}

interface Ended {
  ask: AskRef
  at: Date
  /** The whole outcome, as the bus has it. */
  outcome: Outcome
}

/** Somebody answered. */
export interface Answered<T> extends Ended {
  status: 'answered'
  value: T
  /** Who. */
  by: By
  /** "policy": a rule answered. */
  source: 'human' | 'policy'
  /** What the person added; of a form, the notes on its questions, a line each. */
  note?: string
}
/** Somebody wrote one reply to the whole ask instead of answering its questions. */
export interface Replied extends Ended { status: 'replied'; response: string; by: By }
/** Somebody answered, and the schema does not accept it. */
export interface Unfit extends Ended { status: 'unfit'; value: unknown; issues: readonly Issue[]; by: By }
/** Somebody declined, with a reason or by an option that ends the ask. */
export interface Declined extends Ended { status: 'declined'; reason?: string; option?: string; by?: By }
/** The agent took it back. */
export interface Withdrawn extends Ended { status: 'withdrawn'; reason?: string }
/** Nobody answered in time. value is set only with atDeadline "default": the questions' defaults, which nobody has seen. */
export interface Expired<T> extends Ended { status: 'expired'; value?: T }
/** An operator or the system ended it. */
export interface Aborted extends Ended { status: 'aborted'; reason?: string }
/** It is not over: the time of the option wait has passed. */
export interface Pending<T = unknown> { status: 'pending'; ask: AskRef<T> }

export type End<T> = Answered<T> | Replied | Unfit | Declined | Withdrawn | Expired<T> | Aborted

/** What orThrow throws for every end without a value. */
export class AskNotAnswered extends Error {
  override name = 'AskNotAnswered'
  end: Exclude<End<unknown>, Answered<unknown>> | Pending

  constructor(end: Exclude<End<unknown>, Answered<unknown>> | Pending) {
    const why = 'reason' in end ? end.reason : 'response' in end ? end.response : 'issues' in end ? end.issues.map(({ message }) => message).join('; ') : ''
    super(`ask ${end.ask.id} is ${end.status}${why ? `: ${why}` : ''}`)
    this.end = end
  }
}

/** A promise of an end, and of the value alone. */
export interface Asking<T, P = never> extends Promise<End<T> | P> {
  /** Resolves to the value that somebody gave. Every other end is thrown as AskNotAnswered, also one with default values. */
  orThrow(): Promise<T>
}

export function asking<T, P>(promise: Promise<End<T> | P>): Asking<T, P> {
  return Object.assign(promise, {
    orThrow: async () => {
      const end = (await promise) as End<T> | Pending
      if (end.status === 'answered') return end.value
      throw new AskNotAnswered(end)
    },
  }) as Asking<T, P>
}

/** The end that an outcome means. The ask is that of the outcome, or the one that was asked. */
export async function read<T>(outcome: Outcome, asked?: Pick<Ask, 'questions'>, schema?: StandardSchema<T>): Promise<End<T>> {
  const ended: Ended = { ask: { session: outcome.session, id: outcome.ask_id, tenant: outcome.tenant }, at: new Date(outcome.at), outcome }
  const { reason } = outcome
  const why = reason ? { reason } : {}
  const by = outcome.by as By
  const questions = (outcome.ask ?? asked)?.questions ?? []
  switch (outcome.status) {
    case 'cancelled': {
      const option = outcome.cancelled_by?.option_id
      return { ...ended, status: 'declined', ...why, ...(by ? { by } : {}), ...(option ? { option } : {}) }
    }
    case 'withdrawn': return { ...ended, status: 'withdrawn', ...why }
    case 'aborted': return { ...ended, status: 'aborted', ...why }
    case 'expired':
      if (outcome.source !== 'default') return { ...ended, status: 'expired' }
  }
  const left = outcome.answers.filter((a) => a.skipped)
  const instead = left.length === outcome.answers.length || left.some((a) => questions.find((q) => q.id === a.question_id)?.required !== false)
  if (outcome.response && instead) return { ...ended, status: 'replied', response: outcome.response, by }
  let value = valueOf(questions, outcome.answers) as T
  if (schema) {
    const checked = await schema['~standard'].validate(value)
    if (checked.issues) return { ...ended, status: 'unfit', value, issues: checked.issues, by }
    value = checked.value
  }
  if (outcome.status === 'expired') return { ...ended, status: 'expired', value }
  const notes = outcome.answers.filter((a) => a.notes).map((a) => (outcome.answers.length > 1 ? `${a.question_id}: ${a.notes}` : a.notes))
  if (outcome.response) notes.push(outcome.response)
  return { ...ended, status: 'answered', value, by, source: outcome.source as 'human' | 'policy', ...(notes.length ? { note: notes.join('\n') } : {}) }
}

function valueOf(questions: Ask['questions'], answers: Answer[]): unknown {
  const value = (q: Ask['questions'][number], a?: Answer): unknown => {
    if (!a || a.skipped) return undefined
    if (!q.options?.length) return a.text ?? a.number ?? a.boolean ?? a.date
    const chosen: (string | Other)[] = [...(a.selected ?? []), ...(a.other ? [{ other: a.other }] : [])]
    return q.multiple ? chosen : chosen[0]
  }
  const values = Object.fromEntries(answers.map((a, i) => [a.question_id, value(questions.find((q) => q.id === a.question_id) ?? questions[i]!, a)]))
  return answers.length === 1 && answers[0]!.question_id === only ? values[only] : values
}
