// A LangGraph graph whose two nodes ask questions of their own at the same time.
import { Annotation, Command, END, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { decisions } from 'askbus/langgraph'

const graph = new StateGraph(Annotation.Root({ city: Annotation(), mail: Annotation() }))
  .addNode('where', () => ({ city: interrupt('Which city?') }))
  .addNode('send', () => ({ mail: interrupt({ question: 'Send it?', options: ['Send', 'Keep a draft'], draft: 'Dear all,' }) }))
  .addEdge(START, 'where').addEdge(START, 'send').addEdge('where', END).addEdge('send', END)
  .compile({ checkpointer: new MemorySaver() })

const thread = { configurable: { thread_id: crypto.randomUUID() } }
let state = await graph.invoke({}, thread)
while (state.__interrupt__) {
  try {
    state = await graph.invoke(new Command({ resume: await decisions(state.__interrupt__) }), thread)
  } catch (e) {
    console.log(`still interrupted: ${e.message}`)
    process.exit()
  }
}
console.log(`city ${state.city}; mail ${state.mail}`)
