// Prints what the AsyncAPI project's parser says of a description.
import { fromFile, Parser } from '@asyncapi/parser'

const { document, diagnostics } = await fromFile(new Parser(), process.argv[2]).parse()
for (const { code, path, message } of diagnostics) console.log(`${code} at ${path.join('/')}: ${message}`)
if (!document) console.log('there is no document')
