// References to named schemas.
import { type JsonSchema, schemaReference } from '../schema.ts'

export function reference(name: string): JsonSchema {
  return { $ref: schemaReference(name) }
}
