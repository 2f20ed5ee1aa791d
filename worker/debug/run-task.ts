// Runs the task of a debugging request: the entry of this room, which is loaded only where the
// debugging routes are on.

import type { JsonObject } from '../normalized/index.ts'
import { writeExplanation } from './explain/document.ts'
import type { DebugContext } from './job.ts'
import type { DebugEnvironment } from './selected-route.ts'
import { translateDebug } from './translate.ts'

/**
 * Resolves with the object to send. Rejects with `GatewayError`.
 * @param source the parsed body, and its length.
 */
export async function runDebugTask(
  source: { body: JsonObject; bytes: number },
  context: DebugContext,
  environment: DebugEnvironment
): Promise<JsonObject> {
  const { task } = context
  return task.type === 'explain'
    ? writeExplanation(task, source, context, environment)
    : translateDebug(task.type, source.body, context, environment)
}
