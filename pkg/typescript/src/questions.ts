// What an agent may ask, and the types of the answers: those of a question follow from how it is written.
import type { Ask, Option, Question } from './wire.js'

/** Any library's schema (zod, valibot, arktype …): https://standardschema.dev, of which this is the part that is used. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}
export type SchemaResult<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly Issue[] }
export interface Issue { readonly message: string; readonly path?: readonly unknown[] | undefined }
type OutputOf<S> = S extends { readonly '~standard': { readonly types?: { readonly output: infer Output } | undefined } } ? Output : never

/** What a question of every kind may say. */
interface Common {
  /** A chip beside the question, at most 12 characters. */
  header?: string
  /** false: it may be left out, and its value is then undefined. */
  required?: boolean
  placeholder?: string
  /** What the person is told when a limit is broken. */
  message?: string
}

/** Options by id: a label, or a label with a description, a preview and so on. */
export type Options = { readonly [id: string]: string | Omit<Option, 'id'> }

export interface ChoiceField extends Common {
  kind?: 'choice'
  options: Options
  /** Several may be chosen: the value is an array. */
  multiple?: boolean
  min?: number
  max?: number
  /** The person may write something else: the value is then { other: "…" }. Default: only the options count. */
  other?: boolean
  default?: string | readonly string[]
}
export interface TextField extends Common { kind?: 'text'; minLength?: number; maxLength?: number; /** RE2 */ pattern?: string; default?: string }
export interface NumberField extends Common { kind: 'number'; min?: number; max?: number; integer?: boolean; default?: number }
export interface ConfirmField extends Common { kind: 'boolean'; default?: boolean }
export interface DateField extends Common { kind: 'date'; /** YYYY-MM-DD */ min?: string; max?: string; default?: string }
export type Field = { text: string } & (ChoiceField | TextField | NumberField | ConfirmField | DateField)

/** What somebody wrote instead of choosing. */
export interface Other { other: string }

type Item<F> = F extends { options: infer O } ? (keyof O & string) | (F extends { other: true } ? Other : never) : never
type Plain<F> = F extends { options: Options } ? (F extends { multiple: true } ? Item<F>[] : Item<F>)
  : F extends { kind: 'number' } ? number : F extends { kind: 'boolean' } ? boolean : string
/** The value of a question; that of its schema, if it has one. */
export type Value<F> = F extends { schema: StandardSchema } ? OutputOf<F['schema']> : Plain<F> | (F extends { required: false } ? undefined : never)
/** The values of a form, by the names of its questions. */
export type Values<Fields, O> = O extends { schema: StandardSchema } ? OutputOf<O['schema']> : { [Name in keyof Fields]: Value<Fields[Name]> }

/** What an ask may say beside its questions. */
export interface AskOptions {
  /** The same id again is the same ask, also from another process and after it has ended. See "Ids" in the README. */
  id?: string
  title?: string
  /** Markdown: what the agent is doing and why it asks. */
  context?: string
  priority?: Ask['priority']
  /** Who may decide: "group:dba", or a principal. */
  audience?: readonly string[]
  minProof?: Ask['min_proof']
  asker?: readonly string[]
  excludeAsker?: boolean
  /** "asker": nobody but the principals in asker may decide. */
  only?: Ask['only']
  /** Principals that may not decide. */
  exclude?: readonly string[]
  /** Makes each answer a vote, and says whose votes end the ask; of confirm, or choose without multiple and other. */
  approval?: Ask['approval']
  /** Whom surfaces tell while nobody decides, such as [{ after: "10m", tell: ["group:oncall"] }]. */
  escalate?: Ask['escalate']
  /** How often these steps are taken again. */
  escalateRepeat?: number
  /** A calendar of the operator: only its open hours count, and steps are taken only in them. */
  escalateHours?: string
  /** Evidence: what POST /v1/files returned. */
  files?: Ask['files']
  requireResponder?: boolean
  whileWaiting?: boolean
  /** The name of a callback that an operator registered: the outcome is sent there too, see webhook(). */
  callback?: string
  /** Such as "90s", "30m", "2h", "1d", or milliseconds. After it the ask is expired. */
  timeout?: string | number
  deadline?: Date | string
  /** "default": an ask that expires has the defaults of its questions as its value. */
  atDeadline?: Ask['at_deadline']
  agent?: Ask['agent']
  metadata?: Record<string, unknown>
}

/** The id of the only question of choose, confirm, text, number and date. */
export const only = 'answer'

/** What a field of any kind may have. */
interface AnyField {
  kind?: Question['kind']
  header?: string
  required?: boolean
  placeholder?: string
  options?: Options
  multiple?: boolean
  other?: boolean
  min?: number | string
  max?: number | string
  integer?: boolean
  minLength?: number
  maxLength?: number
  pattern?: string
  message?: string
  default?: unknown
}

const fieldNames = Object.keys({
  text: 0, kind: 0, header: 0, required: 0, placeholder: 0, options: 0, multiple: 0, other: 0, min: 0, max: 0, integer: 0, minLength: 0, maxLength: 0, pattern: 0, message: 0, default: 0, schema: 0,
} satisfies Record<keyof AnyField | 'text' | 'schema', 0>)

const askNames = Object.keys({
  id: 0, title: 0, context: 0, priority: 0, audience: 0, minProof: 0, asker: 0, excludeAsker: 0, only: 0, exclude: 0, approval: 0, escalate: 0, escalateRepeat: 0, escalateHours: 0, files: 0, requireResponder: 0,
  whileWaiting: 0, callback: 0, timeout: 0, deadline: 0, atDeadline: 0, agent: 0, metadata: 0, schema: 0, wait: 0, signal: 0, onAbort: 0,
} satisfies Record<keyof AskOptions | 'schema' | 'wait' | 'signal' | 'onAbort', 0>)

/** Refuses a misspelt name, also min_proof for minProof: left out, it would ask for less than was meant. */
export function checkNames(given: object, of: 'field' | 'ask' | 'both'): void {
  const names = [...(of === 'ask' ? [] : fieldNames), ...(of === 'field' ? [] : askNames)]
  const unknown = Object.keys(given).filter((name) => !names.includes(name))
  if (unknown.length) throw new TypeError(`unknown: ${unknown.join(', ')}; give ${[...new Set(names)].join(', ')}`)
}

/** The question of a field, in the protocol's JSON. */
export function question(id: string, text: string, field: AnyField): Question {
  const { header, required, placeholder, options, multiple, min, max, other, integer, minLength, maxLength, pattern, message } = field
  const choice = options !== undefined
  if (Array.isArray(options)) throw new TypeError('options is an array; give labels by id, such as { pg: "PostgreSQL" }')
  const kind = choice ? 'choice' : (field.kind ?? 'text')
  const limits = prune({ min: choice ? undefined : min, max: choice ? undefined : max, integer, min_length: minLength, max_length: maxLength, pattern, message })
  return prune({
    id, kind, text, header, required, placeholder,
    options: choice ? Object.entries(options).map(([id, option]) => ({ id, ...(typeof option === 'string' ? { label: option } : option) })) : undefined,
    multiple, min_items: choice ? min : undefined, max_items: choice ? max : undefined, allow_other: choice ? other ?? false : undefined,
    default: choice && field.default !== undefined ? [field.default].flat() : field.default,
    limits: Object.keys(limits).length ? limits : undefined,
  }) as unknown as Question
}

/** What an ask says beside its questions, in the protocol's JSON; the broker sets `policies`, `break_glass` and `open_hours`. */
export function envelope(o: AskOptions): Omit<Ask, 'id' | 'questions'> {
  return prune({
    title: o.title, context: o.context, agent: o.agent, priority: o.priority, audience: o.audience, min_proof: o.minProof, asker: o.asker,
    exclude_asker: o.excludeAsker, only: o.only, exclude: o.exclude, approval: o.approval, escalate: o.escalate, escalate_repeat: o.escalateRepeat, escalate_hours: o.escalateHours, files: o.files, require_responder: o.requireResponder, while_waiting: o.whileWaiting, callback: o.callback, timeout: duration(o.timeout),
    deadline: o.deadline instanceof Date ? o.deadline.toISOString() : o.deadline, at_deadline: o.atDeadline, metadata: o.metadata,
  } satisfies Record<Exclude<keyof Ask, 'id' | 'questions' | 'policies' | 'break_glass' | 'open_hours'>, unknown>) as unknown as Omit<Ask, 'id' | 'questions'>
}

/** Writes a duration as the bus reads it: days become hours, numbers are milliseconds. */
export function duration(d: string | number | undefined): string | undefined {
  if (typeof d === 'number') return `${d}ms`
  return d?.replace(/^(\d+(?:\.\d+)?)d/, (_, days) => `${Number(days) * 24}h`)
}

/** A duration in milliseconds. */
export function milliseconds(d: string | number): number {
  if (typeof d === 'number') return d
  const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
  const parts = [...duration(d)!.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  if (!parts.length || parts.map(([part]) => part).join('') !== duration(d)) throw new TypeError(`"${d}" is no duration; give milliseconds, or a duration such as "30s", "5m" or "1d"`)
  return parts.reduce((sum, [, n, unit]) => sum + Number(n) * units[unit!]!, 0)
}

function prune<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T
}
