// Writes the JSON Schema of prices files for editors, from the definition that the gateway validates with:
// `node ops/docs/prices-schema.ts`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { pricesFile } from '../../supervisor/prices/schema.ts'

export const pricesSchemaFile = join(import.meta.dirname, '../schema/prices.v1.json')

/** The text of the schema file. */
export function renderPricesSchema(): string {
  const schema = z.toJSONSchema(pricesFile, { target: 'draft-7', io: 'input' })
  return `${JSON.stringify({ ...schema, title: 'Prices of models of llm-gateway, version 1' }, null, 2)}\n`
}

if (import.meta.main) writeFileSync(pricesSchemaFile, renderPricesSchema())
