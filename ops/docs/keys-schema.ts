// Writes the JSON Schema of keys files for editors, from the definition that the gateway validates with:
// `node ops/docs/keys-schema.ts`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { keysFile } from '../../supervisor/keys/schema.ts'

export const keysSchemaFile = join(import.meta.dirname, '../schema/keys.v1.json')

/** The text of the schema file. Rules between members, such as unique names, are checked by the gateway only. */
export function renderKeysSchema(): string {
  const schema = z.toJSONSchema(keysFile, { target: 'draft-7', io: 'input' })
  return `${JSON.stringify({ ...schema, title: 'API keys of llm-gateway, version 1' }, null, 2)}\n`
}

if (import.meta.main) writeFileSync(keysSchemaFile, renderKeysSchema())
