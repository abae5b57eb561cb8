// Writes what openapi-typescript makes of a description.
import { readFileSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString } from 'openapi-typescript'

writeFileSync(process.argv[3], astToString(await openapiTS(readFileSync(process.argv[2]))))
