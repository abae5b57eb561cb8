// Parses what askbus reads and writes in a framework's shape with the schemas of the framework's own package:
//
//   node check.mjs '{"ai":{"request":[…parts],"answer":[…parts]},"agui":{"request":{…event},"answer":{…}},
//     "eve":{"inputs":[…],"outputs":[…],"requests":[…],"responses":[…]}}'
import { modelMessageSchema } from 'ai'
import { ResumeEntrySchema, RunFinishedEventSchema } from '@ag-ui/core/schemas'
import { parseInputResponses } from 'eve/client'
import { inputRequestSchema } from '../node_modules/eve/dist/src/shared/input.js' // not exported
import { askQuestion } from 'eve/tools/ask_question'

const plan = JSON.parse(process.argv[2])
const problems = []
const check = (what, schema, value) => {
  const { success, error } = schema.safeParse(value)
  if (!success) problems.push(what + ': ' + JSON.stringify(error.issues ?? error))
}
check('ai request', modelMessageSchema, { role: 'assistant', content: plan.ai.request })
check('ai answer', modelMessageSchema, { role: 'tool', content: plan.ai.answer })
check('ag-ui request', RunFinishedEventSchema, plan.agui.request)
for (const entry of plan.agui.answer.resume) check('ag-ui answer', ResumeEntrySchema, entry)

const tool = askQuestion()
const valid = async (what, schema, value) => {
  const { issues } = await schema['~standard'].validate(value)
  if (issues) problems.push(what + ': ' + JSON.stringify(issues))
}
for (const input of plan.eve.inputs) await valid('eve input', tool.inputSchema, input)
for (const output of plan.eve.outputs) {
  await valid('eve output', tool.outputSchema, output)
  tool.toModelOutput(output)
}
for (const request of plan.eve.requests) check('eve request', inputRequestSchema, request)
try {
  parseInputResponses(plan.eve.responses)
} catch (e) {
  problems.push('eve responses: ' + e)
}
process.stdout.write(JSON.stringify({ index: 0, text: problems.join('\n') }) + '\n')
