// Writes the JSON Schema of requests in the normalized form, from the definition that the debugging routes validate with:
// `node ops/docs/normalized-schema.ts`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { normalizedRequestSchema } from '../../worker/debug/normalized/schema.ts'

export const normalizedSchemaFile = join(import.meta.dirname, '../schema/normalized.v1.json')

/** The text of the schema file. */
export function renderNormalizedSchema(): string {
  const schema = z.toJSONSchema(normalizedRequestSchema, { target: 'draft-7', io: 'input', unrepresentable: 'any' })
  return `${JSON.stringify(schema, null, 2)}\n`
}

if (import.meta.main) writeFileSync(normalizedSchemaFile, renderNormalizedSchema())
