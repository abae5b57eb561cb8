// An agent with the package for TypeScript. Its plan says what it does:
//
//   { "do": "kinds" }               asks a form with every kind of question, says so, waits, and prints the values and who answered
//   { "do": "approval" }            asks for an approval, with a file, and prints the end
//   { "do": "wait", "id": "a-1" }   asks, says so, waits, and prints the end; without id the package makes one
import { Askbus } from 'askbus'

const plan = JSON.parse(process.argv[2])
const bus = new Askbus({ agent: { name: 'tester' } })
const options = { pg: 'PostgreSQL', lite: 'SQLite' }
if (plan.do === 'kinds') {
  const questions = {
    one: { text: 'One?', options },
    some: { text: 'Some?', options, multiple: true, other: true },
    own: { text: 'Own?', options, other: true },
    words: { text: 'Words?' },
    share: { text: 'Share?', kind: 'number' },
    large: { text: 'Large?', kind: 'number', integer: true },
    no: { text: 'No?', kind: 'boolean' },
    day: { text: 'Day?', kind: 'date' },
    left: { text: 'Left out?', required: false },
  }
  await bus.form(questions, { id: 'kinds', wait: 0 })
  console.log('asked')
  const end = await bus.form(questions, { id: 'kinds' })
  console.log(JSON.stringify([end.status, end.value, end.by.name, end.note]))
} else if (plan.do === 'approval') {
  const file = await bus.upload('the plan', 'plan.txt')
  if (new TextDecoder().decode(await bus.file(file.id)) !== 'the plan') throw new Error('other bytes')
  const end = await bus.confirm('Deploy?', { files: [file], approval: { any_of: [{ need: 1, from: ['os:mei'] }] }, asker: ['os:bo'], exclude: ['os:bo'], id: 'approval' })
  console.log(end.status, end.value)
} else {
  const { ask } = await bus.text('What is the ticket?', { wait: 0, ...(plan.id ? { id: plan.id } : {}) })
  console.log('asked')
  const end = await bus.wait(ask)
  console.log(JSON.stringify([end.status, end.value]))
}
