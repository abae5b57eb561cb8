// Prints what Redocly's recommended rules find in an OpenAPI description.
import { createConfig, lint } from '@redocly/openapi-core'

const problems = await lint({ ref: process.argv[2], config: await createConfig({ extends: ['recommended'] }) })
for (const { severity, ruleId, message, location } of problems) console.log(`${severity} ${ruleId}: ${message} at ${location.map((l) => l.pointer).join(', ')}`)
