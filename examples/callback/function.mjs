// A serverless function that asks, ends, and is called back when somebody has answered, perhaps days later. The operator
// registered the callback "builder" with the address of resume (docs/webhooks.md).
import { Askbus, webhook } from 'askbus'

export async function start(build) {
  await new Askbus().confirm(`Deploy ${build}?`, { id: `deploy-${build}`, callback: 'builder', wait: 0 })
}

export async function resume(request) {
  const event = await webhook(request, process.env.ASKBUS_WEBHOOK_SECRET) // throws if it is not from the bus
  const end = await new Askbus().wait(event.data.data.ask_id) // at once: it has ended
  console.log(end.ask.id, end.status === 'answered' ? end.value : end.status)
  return new Response(null, { status: 204 }) // else it comes again, with the same event.id
}
