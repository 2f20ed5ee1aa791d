// Writes the JSON Schema of profile files for editors, from the definition that the gateway validates with:
// `node ops/docs/profile-schema.ts`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { fileV3 } from '../../supervisor/profile/schema.ts'

export const schemaFile = join(import.meta.dirname, '../schema/profile.v3.json')

/** The text of the schema file. Rules between members, such as unique ids, are checked by the gateway only. */
export function renderProfileSchema(): string {
  const schema = z.toJSONSchema(fileV3, {
    target: 'draft-7',
    io: 'input'
  })
  const described = { ...schema, title: 'Provider profiles of llm-gateway, version 3' }
  return `${JSON.stringify(described, null, 2)}\n`
}

if (import.meta.main) writeFileSync(schemaFile, renderProfileSchema())
