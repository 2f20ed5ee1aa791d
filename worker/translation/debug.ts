// Works on a debugging request, inline or in a thread. Loaded with the first of them.

import type { DebugContext } from '../debug/job.ts'
import { runDebugTask } from '../debug/run-task.ts'
import { GatewayError, type JsonObject } from '../normalized/index.ts'
import { readJsonObject } from './json-body.ts'
import type { TaskEnvironment, WrittenResponse } from './types.ts'

export interface DebugJob {
  bytes: Uint8Array
  context: DebugContext
}

/**
 * Answers a debugging request. Rejects with `GatewayError`: `invalid_json` and the errors of the
 * translations.
 */
export async function translateDebug(
  { bytes, context }: DebugJob,
  environment: TaskEnvironment
): Promise<WrittenResponse> {
  const { byteLength } = bytes
  const body = readDebugBody(bytes)
  return { body: JSON.stringify(await runDebugTask({ body, bytes: byteLength }, context, environment)) }
}

/** The text is that of operations.md 10. */
function readDebugBody(bytes: Uint8Array): JsonObject {
  try {
    return readJsonObject(bytes)
  } catch (thrown) {
    if (!GatewayError.is(thrown) || thrown.code !== 'invalid_json') throw thrown
    throw new GatewayError('invalid_json', { message: 'Expected a JSON object', cause: thrown })
  }
}
