// Reads an answer as a person types it, as the bus does (pkg/ask, ParseReply), for the test double.
import type { Answer, Question } from './wire.js'

/** The answer that a text means. An Error says why it is none. */
export function parseReply(q: Question, typed: string): Answer {
  const text = typed.trim()
  const question_id = q.id!
  if (!text) {
    if (q.required ?? true) throw new Error('Please give an answer.')
    return { question_id, skipped: true }
  }
  const { min, max, integer, min_length, max_length, pattern, message } = q.limits ?? {}
  const check = (fits: boolean, otherwise: string) => {
    if (!fits) throw new Error(message || otherwise)
  }
  switch (q.kind) {
    case 'number': {
      if (!/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text)) throw new Error(`"${text}" is not a number; type one such as 3 or 2.5.`)
      const number = Number(text)
      check(!integer || Number.isInteger(number), `Your answer is ${text}; give a whole number.`)
      check((min === undefined || number >= (min as number)) && (max === undefined || number <= (max as number)), `Your answer is ${text}; give one from ${min ?? '-∞'} to ${max ?? '∞'}.`)
      return { question_id, number }
    }
    case 'boolean': {
      const yes = /^(1|yes|y|true|是|是的|对)$/i.test(text)
      if (!yes && !/^(2|no|n|false|否|不|不是)$/i.test(text)) throw new Error(`"${text}" is neither yes nor no.`)
      return { question_id, boolean: yes }
    }
    case 'date': {
      const date = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})$/.exec(text)?.slice(1).map((part) => part.padStart(2, '0')).join('-')
      const day = new Date(`${date}T00:00:00Z`)
      if (!date || Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== date) throw new Error(`"${text}" is not a date; type one such as 2026-11-20.`)
      check((min === undefined || date >= String(min)) && (max === undefined || date <= String(max)), `Your answer is ${date}; give one from ${min ?? '…'} to ${max ?? '…'}.`)
      return { question_id, date }
    }
    case 'choice':
      if (q.options?.length) return { question_id, ...choice(q, text) }
  }
  const length = [...text].length
  check(length >= (min_length ?? 0) && (!max_length || length <= max_length), `Your answer has ${length} characters; give ${min_length ?? 0} to ${max_length || 65536}.`)
  check(!pattern || new RegExp(pattern, 'u').test(text), `Your answer does not match ${pattern}.`)
  return { question_id, text }
}

function choice(q: Question, text: string): Partial<Answer> {
  const other = q.allow_other ?? true
  const whole = find(q, text)
  if (whole) return { selected: [whole] }
  if (other && /^other:\s*\S/i.test(text)) return { other: text.slice(6).trim() }
  if (q.multiple) {
    const pieces = text.split(',').map((piece) => piece.trim()).filter(Boolean)
    const found = pieces.map((piece) => find(q, piece))
    const selected = [...new Set(found.filter((id) => id !== undefined))]
    const rest = pieces.filter((_, i) => !found[i])
    if (selected.length && (!rest.length || other)) {
      const count = selected.length + (rest.length ? 1 : 0)
      if (count < (q.min_items ?? 0) || (q.max_items && count > q.max_items)) throw new Error(`Your answer has ${count} options; choose ${q.min_items ?? 0} to ${q.max_items || q.options!.length}.`)
      return { selected, ...(rest.length ? { other: rest.join(', ') } : {}) }
    }
  }
  if (other && !/^\d+$/.test(text)) return { other: text }
  throw new Error(`"${text}" is not one of the options; type a number from 1 to ${q.options!.length}.`)
}

/** The id of the one option that a text names: by its id, label, number, or a part of its label that no other has. */
function find(q: Question, text: string): string | undefined {
  const options = q.options!
  const plain = text.toLowerCase()
  const part = options.filter(({ label }) => label.toLowerCase().includes(plain))
  const named = options.find(({ id }) => id === text) ?? options.find(({ id, label }) => label.toLowerCase() === plain || id!.toLowerCase() === plain)
    ?? (/^\d{1,3}$/.test(text) ? options[Number(text) - 1] : undefined)
  if (named) return named.id
  if (part.length > 1) throw new Error(`"${text}" fits ${part.length} options. Type the number of one.`)
  return part[0]?.id
}
