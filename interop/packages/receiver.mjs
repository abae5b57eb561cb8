// A platform that calls function.mjs with each request, after two foreign verifiers have looked at it.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { resume } from './function.mjs'

const require = createRequire(process.env.FOREIGN)
const verifiers = ['standardwebhooks', 'svix'].map((name) => new (require(name).Webhook)(process.env.ASKBUS_WEBHOOK_SECRET))
createServer(async (req, res) => {
  const body = Buffer.concat(await req.toArray())
  for (const v of verifiers) v.verify(body.toString(), req.headers)
  const { status } = await resume(new Request('http://localhost/', { method: 'POST', headers: req.headers, body }))
  res.writeHead(status).end()
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
