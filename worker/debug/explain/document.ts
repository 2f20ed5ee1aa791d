// The document of an explanation.

import { setImmediate } from 'node:timers/promises'
import type { ExecutionPlan } from '../../bridge/resolve-route.ts'
import type { JsonObject } from '../../normalized/index.ts'
import { readModelMember } from '../formats.ts'
import type { DebugContext, DebugTask } from '../job.ts'
import { toSnakeCase } from '../normalized/names.ts'
import { clean } from '../normalized/write-request.ts'
import type { DebugEnvironment } from '../selected-route.ts'
import { explainBody } from './explain.ts'
import { type Accepted, createChatProbe, createEmbeddingsProbe } from './probe.ts'

/** Processor time of this thread: a machine that is busy with clients makes no explanation shorter. */
function readThreadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Explains a body of a family on the route that its model selects. Makes no call to a provider. */
export async function writeExplanation(
  task: Extract<DebugTask, { type: 'explain' }>,
  { body, bytes }: { body: JsonObject; bytes: number },
  context: DebugContext,
  environment: DebugEnvironment
): Promise<JsonObject> {
  const { family, isStream } = task
  const model = task.model ?? (family === 'gemini' ? readModelMember(body) : undefined)
  const probe =
    family === 'embeddings'
      ? createEmbeddingsProbe(context, environment)
      : createChatProbe(family, { model: family === 'gemini' ? model : undefined, isStream }, context, environment)
  const explained = await explainBody(body, { family, probe, bytes, pause: () => setImmediate(), nowMs: readThreadMs })
  const { base, error, fields, isComplete, isLate } = explained
  return clean({
    family,
    accepted: error === undefined,
    error: error && clean({ code: error.code, status: error.status, param: error.param, message: error.message }),
    route: base && writeRoute(base.plan, base),
    ignored: base?.leftOut && [...base.leftOut],
    fields: fields.map(field => ({ ...field })),
    complete: isComplete,
    cut: isLate ? 'time' : undefined
  })
}

function writeRoute(plan: ExecutionPlan, { path }: Accepted): JsonObject {
  const { profileId, providerKind, apiMode, publicModel, upstreamModel, targets, evidence, admission } = plan
  return clean({
    profile_id: profileId,
    provider_kind: providerKind,
    api_mode: apiMode,
    public_model: publicModel,
    upstream_model: upstreamModel,
    path,
    // Profile, model and path are those of the first one; nothing is chosen for an explanation.
    targets: targets?.map(target => ({
      profile_id: target.profileId,
      upstream_model: target.upstreamModel,
      weight: target.weight,
      priority: target.priority
    })),
    evidence: evidence && toSnakeCase(evidence),
    admission: admission && toSnakeCase(admission)
  })
}
