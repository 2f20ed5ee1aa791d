// Answers a debugging request: the entry of this room, which is loaded only where the debugging routes are on.

import type { JsonObject } from '../normalized/index.ts'
import { answerExplain } from './explain/answer.ts'
import type { DebugContext } from './job.ts'
import type { DebugEnvironment } from './selected-route.ts'
import { translateDebug } from './translate.ts'

/**
 * Answers one request with the object to send. Rejects with `GatewayError`.
 * @param source the parsed body, and its length.
 */
export async function answerDebug(
  source: { body: JsonObject; bytes: number },
  context: DebugContext,
  environment: DebugEnvironment
): Promise<JsonObject> {
  const { task } = context
  return task.type === 'explain'
    ? answerExplain(task, source, context, environment)
    : translateDebug(task.type, source.body, context, environment)
}
