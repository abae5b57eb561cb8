// The types of the package, as a program sees them. It is compiled, not run.
import { Askbus, type AskRef, type Pending, type StandardSchema } from 'askbus'
import { FakeAskbus } from 'askbus/testing'
import { canUseTool } from 'askbus/claude'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const is = <T extends true>(_: T) => {}

const bus: Askbus = new FakeAskbus()
const options = { pg: 'PostgreSQL', lite: { label: 'SQLite', description: 'one file' } } as const
const one = await bus.choose('Which?', { options })
if (one.status === 'answered') is<Same<typeof one.value, 'pg' | 'lite'>>(true)
if (one.status === 'expired') one.value satisfies 'pg' | 'lite' | undefined
// @ts-expect-error without the option wait, no end is pending
if (one.status === 'pending') throw one
const several = await bus.choose('Which?', { options: { pg: 'PostgreSQL' }, multiple: true, other: true }).orThrow()
is<Same<typeof several, ('pg' | { other: string })[]>>(true)
is<Same<Awaited<ReturnType<typeof optional>>, string | undefined>>(true)
const optional = () => bus.text('Name?', { required: false }).orThrow()
const yes = await bus.confirm('Go?').orThrow()
is<Same<typeof yes, boolean>>(true)
const pending = await bus.number('How many?', { wait: '5s' })
if (pending.status === 'pending') pending satisfies Pending<number>
const ref: AskRef<number> | undefined = pending.status === 'pending' ? pending.ask : undefined
if (ref) is<Same<number, Awaited<ReturnType<ReturnType<typeof bus.wait<number>>['orThrow']>>>>(true)

const form = await bus.form({ db: { text: 'Which?', options }, n: { text: 'How many?', kind: 'number' }, go: { text: 'Go?', kind: 'boolean' } }).orThrow()
is<Same<typeof form.db, 'pg' | 'lite'>>(true)
is<Same<typeof form.n, number>>(true)
is<Same<typeof form.go, boolean>>(true)

declare const port: StandardSchema<{ port: number }>
const typed = await bus.text('Which port?', { schema: port }).orThrow()
is<Same<typeof typed, { port: number }>>(true)
const filled = await bus.form({ port: { text: 'Which port?', kind: 'number' } }, { schema: port }).orThrow()
is<Same<typeof filled, { port: number }>>(true)
// @ts-expect-error a choice has options
bus.choose('Which?', {})
// @ts-expect-error no such priority
bus.confirm('Go?', { priority: 'soon' })
canUseTool({ bus }) satisfies (name: string, input: Record<string, unknown>, context: { signal: AbortSignal; toolUseID: string }) => Promise<{ behavior: string }>
