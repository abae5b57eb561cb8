// Writes the Python types that quicktype makes of a description.
import { writeFileSync } from 'node:fs'
import { bundle, createConfig } from '@redocly/openapi-core'
import { FetchingJSONSchemaStore, InputData, JSONSchemaInput, quicktype } from 'quicktype-core'

const { bundle: read } = await bundle({ ref: process.argv[2], config: await createConfig({}) })
const schemas = new JSONSchemaInput(new FetchingJSONSchemaStore())
for (const name of ['Ask', 'Status', 'Outcome', 'Problem']) {
  await schemas.addSource({ name, uris: [`file:///openapi.json#/components/schemas/${name}`], schema: JSON.stringify(read.parsed) })
}
const inputData = new InputData()
inputData.addInput(schemas)
// Times stay text: as datetime they need a library.
const { lines } = await quicktype({ inputData, lang: 'python', rendererOptions: { 'python-version': '3.7' }, inferDateTimes: false })
writeFileSync(process.argv[3], lines.join('\n'))
