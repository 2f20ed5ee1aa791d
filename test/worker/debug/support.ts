// The translations without a gateway: two profiles, one native and one with aliases on the chat completions wire.

import { BASE_FEATURES, FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import type { RouteTable } from '../../../worker/bridge/resolve-route.ts'
import type { ClientFormat } from '../../../worker/debug/formats.ts'
import type { DebugContext, DebugTask } from '../../../worker/debug/job.ts'
import type { DebugEnvironment } from '../../../worker/debug/selected-route.ts'
import { chatCompatibleFace } from '../../../worker/protocols/completions/provider/face.ts'
import type { ApiMode } from '../../../worker/protocols/provider-face.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { requestId } from '../../support/codec.ts'
import { options as chatOptions } from '../protocols/completions/provider/support.ts'
import { plainOptions } from '../protocols/native/support.ts'

/** An alias with every feature. */
export const EDGE = 'edge'
/** The same alias for clients that want exactness (decisions.md 71). */
export const EXACT_EDGE = 'edge-exact'
/** An alias with texts only. */
export const PLAIN_EDGE = 'edge-plain'

const edge = {
  profileId: 'edge-chat',
  providerKind: 'chat_compatible',
  upstreamModel: 'edge-large',
  slotKey: 'edge-chat\nedge-large'
}
const limits = { outputTokensMax: 100_000, contextWindow: 1_000_000 }

const routes: RouteTable = {
  aliases: new Map([
    [EDGE, { ...edge, capabilities: { features: FEATURE_NAMES, ...limits } }],
    [EXACT_EDGE, { ...edge, capabilities: { features: FEATURE_NAMES, refusesUnsupported: true as const, ...limits } }],
    [PLAIN_EDGE, { ...edge, capabilities: { features: [...BASE_FEATURES, 'text'], ...limits } }]
  ]),
  dynamic: { profileId: 'main', providerKind: 'native', passModel: true, defaultEmbeddingsModel: 'Embeddings' }
}

/** The wire as one that no client speaks: these tests are about translations. What goes on as it came is in `same-wire.test.ts`. */
const { sameWire: _sameWire, ...translatedFace } = chatCompatibleFace

export const environment: DebugEnvironment = {
  settings: { routes, providerOptions: { main: plainOptions, 'edge-chat': chatOptions } },
  faces: { ...providerFaces, chat_compatible: translatedFace }
}

export function createContext(task: DebugTask, apiMode: ApiMode = 'v1'): DebugContext {
  return { task, apiMode, requestId, storesByDefault: false, nowSeconds: 1_700_000_000 }
}

/** The format of a family of the recorded requests. */
export const formats = {
  completions: 'openai',
  responses: 'responses',
  messages: 'anthropic',
  content: 'gemini'
} as const satisfies Record<string, ClientFormat>
