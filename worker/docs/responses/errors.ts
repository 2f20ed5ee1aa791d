// Error bodies of every family (operations.md 1.1).
import { z } from 'zod'
import type { ErrorDocument } from '../../../shared/documents/documents.ts'
import { errorDocument } from '../../../shared/documents/documents.ts'
import type { EnvelopeErrorType, ErrorEnvelope } from '../../protocols/shared/completions-family/error-envelope.ts'
import { describe, jsonObject } from '../schema.ts'

const errorType = describe<EnvelopeErrorType>()(
  'CompletionsErrorType',
  z.enum([
    'invalid_request_error',
    'authentication_error',
    'permission_denied_error',
    'not_found_error',
    'rate_limit_error',
    'insufficient_quota',
    'server_error'
  ])
)

export const completionsError = describe<ErrorEnvelope>()(
  'CompletionsError',
  z.strictObject({
    schema_version: z.literal('gateway.error.v1').exactOptional(),
    error: z.strictObject({
      message: z.string(),
      type: errorType,
      param: z.string().nullable().describe('The field at fault in the body of the request.'),
      code: z.string().nullable(),
      details: z.array(z.strictObject({ reason_id: z.string() })).exactOptional()
    })
  })
)

/** The writer's own type is any JSON object. */
export const contentError = describe<ContentErrorBody>()(
  'ContentError',
  z.strictObject({
    error: z.strictObject({
      code: z.int().describe('The HTTP status.'),
      message: z.string(),
      status: z.string(),
      details: z.array(jsonObject).exactOptional()
    })
  })
)

type ContentErrorBody = {
  error: { code: number; message: string; status: string; details?: Array<z.output<typeof jsonObject>> }
}

export const systemError = describe<SystemErrorBody>()(
  'SystemError',
  z.strictObject({
    error: z.strictObject({
      code: z.string(),
      message: z.string(),
      errors: z
        .array(z.strictObject({ path: z.string(), message: z.string() }))
        .describe('Where several places are wrong.')
        .exactOptional()
    })
  })
)

type SystemErrorBody = {
  error: { code: string; message: string; errors?: Array<{ path: string; message: string }> }
}

export const machineError = describe<ErrorDocument>()('MachineError', errorDocument, 'The error of a machine endpoint.')
