// Parses what askbus reads and writes in a framework's shape with the schemas of the framework's own package:
//
//   node check.mjs '{"ai":{"request":[…parts],"answer":[…parts]},"agui":{"request":{…event},"answer":{…}}}'
import { modelMessageSchema } from 'ai'
import { ResumeEntrySchema, RunFinishedEventSchema } from '@ag-ui/core/schemas'

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
process.stdout.write(JSON.stringify({ index: 0, text: problems.join('\n') }) + '\n')
