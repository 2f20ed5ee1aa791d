// The debugging routes: translations between formats, and the explanation of a request
// (operations.md 10). They call no provider and change nothing. Loaded only where
// `GATEWAY_DEBUG_TRANSLATE_ENABLED` is on.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { KeyRing } from '../../shared/keys/key-ring.ts'
import type { ModelScope } from '../../shared/keys/model-scope.ts'
import { createAudit } from '../admin/audit.ts'
import { type DebugTask, explainedFamilies, translationEndpoints } from '../debug/job.ts'
import { boolean, oneOf, optional, readParameters, text } from '../http/request/parameters.ts'
import { sendJson } from '../http/respond.ts'
import { GatewayError } from '../normalized/index.ts'
import { ATTACHMENT_IDS_HEADER } from '../protocols/responses/client/attachment-ids.ts'
import { adminRoute } from './admin-route.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/** Both spellings of the explanation lead to one handler. */
const EXPLAIN_PATHS = ['/_debug/explain', '/debug/explain']

const modeParameters = { api_mode: optional(oneOf(['v1', 'v2'])) }
/** What the content protocol has in its path. */
const pathParameters = { model: optional(text), stream: optional(boolean), key_name: optional(text) }

/** Mounts every debugging route; all of them need the admin key. */
export function registerDebugRoutes(app: FastifyInstance, runtime: WorkerRuntime): void {
  const { translator, settings, clock, writer, keyRing } = runtime
  const audit = createAudit({ ...runtime, connection: writer, nowMs: clock.nowMs })

  async function runTask(
    request: FastifyRequest,
    reply: FastifyReply,
    readTask: (request: FastifyRequest) => { task: DebugTask; scope?: ModelScope }
  ): Promise<void> {
    const { requestId, apiMode, query, body: bytes, signal } = request.context
    // What is refused for its parameters is audited as well.
    const { body } = await audit.run(request.context, { action: 'debug_translate' }, async () => {
      const context = {
        ...readTask(request),
        apiMode: readParameters('query', query, modeParameters).api_mode ?? apiMode,
        requestId,
        attachmentIds: readAttachmentIds(request),
        storesByDefault: settings.responsesStoreDefault === true,
        nowSeconds: Math.floor(clock.nowMs() / 1000)
      }
      return translator.translateDebug({ bytes, context }, signal)
    })
    sendJson(reply, 200, { 'cache-control': 'no-store' }, body)
  }

  function mount(
    path: string,
    parameters: object,
    readTask: (request: FastifyRequest) => { task: DebugTask; scope?: ModelScope }
  ): void {
    const route = adminRoute('POST', path, Object.keys(parameters))
    app.route({ ...route, handler: (request, reply) => runTask(request, reply, readTask) })
  }

  for (const type of translationEndpoints) {
    mount(type === 'translate' ? '/_debug/translate' : `/_debug/translate/${type}`, modeParameters, () => ({
      task: { type }
    }))
  }
  for (const path of EXPLAIN_PATHS) {
    for (const family of explainedFamilies) {
      mount(`${path}/${family}`, { ...modeParameters, ...pathParameters }, request => {
        const { scope, ...outside } = readOutside(request, keyRing)
        return { task: { type: 'explain', family, ...outside }, scope }
      })
    }
  }
}

/** Raises `invalid_parameter`. `key_name` is that of the key whose request is explained: `key` is where clients put a secret. */
function readOutside(
  { context }: FastifyRequest,
  keyRing: KeyRing
): { model?: string; isStream?: boolean; scope: ModelScope } {
  const { model, stream, key_name: key } = readParameters('query', context.query, pathParameters)
  const found = key === undefined ? undefined : keyRing.findByName(key)
  if (key !== undefined && found === undefined) {
    const message = 'Input should be the name of a key'
    throw new GatewayError('invalid_parameter', { errors: [{ path: 'query.key_name', message }] })
  }
  return {
    scope: found?.scope,
    ...(model !== undefined && model !== '' ? { model } : {}),
    ...(stream === true ? { isStream: true } : {})
  }
}

function readAttachmentIds({ headers }: FastifyRequest): string | undefined {
  const header = headers[ATTACHMENT_IDS_HEADER]
  return Array.isArray(header) ? header.join(',') : header
}
