// Asks each question of a FakeAskbus whose only rule is what is said, and prints the answers, or null where it is none.
import { FakeAskbus } from 'askbus/testing'

for (const { question, say } of JSON.parse(process.argv[2])) {
  const bus = new FakeAskbus([{ say }])
  const end = await bus.ask({ questions: [question] }).catch(() => null)
  console.log(JSON.stringify(end?.outcome.answers[0] ?? null))
}
