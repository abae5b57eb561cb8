// Writes the client that @hey-api/openapi-ts makes of a description.
import { createClient } from '@hey-api/openapi-ts'

await createClient({ input: process.argv[2], output: { path: process.argv[3], importFileExtension: '.js' }, logs: { level: 'silent' } })
