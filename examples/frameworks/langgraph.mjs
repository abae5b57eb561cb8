// A LangGraph graph pauses with interrupt(), people decide on any screen, and Command resumes it.
import { Annotation, Command, END, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { decisions } from 'askbus/langgraph'

function deploy() {
  const { decisions: [decision] } = interrupt({ // what LangChain's human-in-the-loop middleware sends, too
    actionRequests: [{ name: 'deploy', args: { to: 'production' }, description: 'All tests pass.' }],
    reviewConfigs: [{ actionName: 'deploy', allowedDecisions: ['approve', 'edit', 'reject'] }],
  })
  if (decision.type === 'reject') return { report: `not deployed: ${decision.message ?? 'no reason'}` }
  return { report: `deployed to ${decision.editedAction?.args.to ?? 'production'}` }
}

const graph = new StateGraph(Annotation.Root({ report: Annotation() }))
  .addNode('deploy', deploy).addEdge(START, 'deploy').addEdge('deploy', END)
  .compile({ checkpointer: new MemorySaver() })

const thread = { configurable: { thread_id: crypto.randomUUID() } }
let state = await graph.invoke({}, thread)
while (state.__interrupt__) { // from here on it is the same for every graph
  state = await graph.invoke(new Command({ resume: await decisions(state.__interrupt__) }), thread)
}
console.log(state.report)
