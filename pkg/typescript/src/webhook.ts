// Verifies what the bus sends to a program: Standard Webhooks 1.0.0.
import { AskbusError } from './http.js'

export interface WebhookEvent<T = unknown> {
  /** The same for every repetition: what was handled already may be skipped. */
  id: string
  /** When this attempt was sent. */
  sent: Date
  /** The body's JSON. */
  data: T
}

export interface WebhookRequest {
  headers: Headers | Record<string, string | string[] | undefined>
  /** The body exactly as it arrived: parsed and written again it has another signature. */
  body: string | Uint8Array
}

/**
 * Verifies the signature of a request and returns what it says. A secret is "whsec_" and base64; while one is replaced,
 * give both. A wrong signature, and a time more than tolerance seconds (default 300) away, is an AskbusError with the
 * code "forbidden".
 */
export async function webhook<T = unknown>(request: Request | WebhookRequest, secret: string | readonly string[], { tolerance = 300, now = Date.now() } = {}): Promise<WebhookEvent<T>> {
  const raw = 'arrayBuffer' in request ? new Uint8Array(await request.arrayBuffer()) : request.body
  const body = typeof raw === 'string' ? new TextEncoder().encode(raw) : raw
  const header = (name: string) => {
    const { headers } = request
    const value = typeof headers.get === 'function' ? (headers as Headers).get(name) : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
    if (typeof value === 'string' && value) return value
    throw refuse(`the request has no header ${name}`)
  }
  const id = header('webhook-id')
  const sent = header('webhook-timestamp')
  if (!/^\d{1,12}$/.test(sent) || !(Math.abs(now / 1000 - Number(sent)) <= tolerance)) throw refuse(`the request is of another time: ${sent}`)
  const given = header('webhook-signature').split(' ').filter((part) => part.startsWith('v1,')).map((part) => decode(part.slice(3)))
  const signed = concat(new TextEncoder().encode(`${id}.${sent}.`), body)
  for (const one of [secret].flat() as string[]) {
    const key = await crypto.subtle.importKey('raw', secretBytes(one), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
    for (const signature of given) {
      // verify compares in constant time
      if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed))) return { id, sent: new Date(1000 * Number(sent)), data: JSON.parse(new TextDecoder().decode(body)) }
    }
  }
  throw refuse('the signature is not of this secret and this body')
}

const refuse = (detail: string) => new AskbusError({ status: 401, code: 'forbidden', detail })

function secretBytes(secret: string) {
  const key = secret.startsWith('whsec_') ? decode(secret.slice(6)) : undefined
  if (!key?.length) throw new TypeError('the secret of a webhook is "whsec_" and base64')
  return key
}

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
  } catch {
    return undefined
  }
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(a.length + b.length)
  all.set(a)
  all.set(b, a.length)
  return all
}
