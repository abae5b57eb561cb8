// LangChain's own human-in-the-loop middleware, with a scripted model.
import { createAgent, FakeToolCallingModel, humanInTheLoopMiddleware, tool } from 'langchain'
import { Command, MemorySaver } from '@langchain/langgraph'
import { z } from 'zod'
import { decisions } from 'askbus/langgraph'

const ran = []
const deploy = tool(({ to }) => (ran.push(to), `deployed to ${to}`), { name: 'deploy', description: 'Deploys.', schema: z.object({ to: z.string() }) })
const call = (id, to) => ({ name: 'deploy', args: { to }, id })
const agent = createAgent({
  model: new FakeToolCallingModel({ toolCalls: [[call('c1', 'staging'), call('c2', 'production')], []] }), tools: [deploy],
  middleware: [humanInTheLoopMiddleware({ interruptOn: { deploy: true } })], checkpointer: new MemorySaver(),
})
const thread = { configurable: { thread_id: crypto.randomUUID() } }
let state = await agent.invoke({ messages: [{ role: 'user', content: 'Deploy.' }] }, thread)
while (state.__interrupt__) {
  state = await agent.invoke(new Command({ resume: await decisions(state.__interrupt__) }), thread)
}
const said = state.messages.filter((m) => m.type === 'tool').map((m) => m.content)
console.log(`ran: ${ran.join(', ')}; told: ${said.join(', ')}`)
