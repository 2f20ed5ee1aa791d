// The short way of a chat whose client and provider speak the same protocol: the bytes of its messages are sent on as they are. What stands
// around them is often the same in all requests of a client, so it is translated once and remembered. The result is that of the general
// way, which every other chat takes.

import { asBuffer, type Bytes, hasOwnMemory } from '../../shared/bytes.ts'
import { planChat } from '../bridge/plan-chat.ts'
import type { RouteTable } from '../bridge/resolve-route.ts'
import type { ClientProtocol, JsonObject } from '../normalized/index.ts'
import { rememberTexts } from '../performance/remember-texts.ts'
import type { ApiMode, OutlineReader } from '../protocols/face.ts'
import { clientFaces, lookUpProviderFace, type ProviderFaces } from '../protocols/registry.ts'
import { describeDelivery, readChat } from './chat.ts'
import { readJsonObject } from './json-body.ts'
import type { ChatJob, TaskEnvironment, TranslatedChat } from './types.ts'

export interface ChatRelay {
  /** Whether any chat of this kind can take the short way. */
  mayTranslate(job: ChatJob): boolean
  /**
   * The translated chat; undefined for one that takes the general way. Costs some 0.4 ms per megabyte, so bodies of any size are read on the
   * event loop. Raises the `GatewayError` of a request that its route does not admit.
   */
  translate(job: ChatJob): TranslatedChat | undefined
}

/** The translated outline of a body: the call without its messages, and the written bytes around them. */
interface Frame {
  call: Omit<TranslatedChat, 'body'>
  before: Buffer
  after: Buffer
}

/** null for an outline whose bodies take the general way. */
type FindFrame = (text: string) => Frame | null

interface RelayedProtocol {
  outline: OutlineReader
  findFrame: Readonly<Record<ApiMode, FindFrame>>
}

/** Creates the short way. It remembers outlines as long as it lives, for the routes of `environment`, which never change. */
export function createChatRelay(environment: Pick<TaskEnvironment, 'settings' | 'faces'>): ChatRelay {
  const models = listRelayedModels(environment.settings.routes, environment.faces)
  const protocols = new Map<ClientProtocol, RelayedProtocol>()
  for (const protocol of new Set(models.values())) {
    const { outline } = clientFaces[protocol]
    if (outline === undefined) continue
    const remember = (apiMode: ApiMode): FindFrame =>
      rememberTexts(text => {
        const bytes = Buffer.from(text, 'latin1')
        const body = readJsonObject(bytes)
        if (models.get(body.model) !== protocol) return null
        return translateOutline({ protocol, apiMode, bytes, body, context: { requestId: '' } }, outline, environment)
      })
    protocols.set(protocol, { outline, findFrame: { v1: remember('v1'), v2: remember('v2') } })
  }
  return {
    // A description is made of the whole request.
    mayTranslate: ({ protocol, description, context }) =>
      description === undefined && context.refusesUnsupported !== true && protocols.has(protocol),
    translate({ protocol, apiMode, bytes, context: { requestId } }) {
      const relayed = protocols.get(protocol)
      const read = relayed?.outline.read(bytes)
      if (relayed === undefined || read === undefined) return undefined
      const frame = relayed.findFrame[apiMode](read.text)
      if (frame === null) return undefined
      const body = join(frame, asBuffer(bytes).subarray(read.messages.start, read.messages.end))
      const call: TranslatedChat = { ...frame.call, request: { ...frame.call.request, requestId, messages: [] }, body }
      // A large body goes out in pieces that share its memory; a small one was copied.
      if (!(body instanceof Uint8Array) && hasOwnMemory(bytes)) call.ownMemory = bytes
      return call
    }
  }
}

/** The client protocol of each alias whose provider speaks one. */
function listRelayedModels({ aliases }: RouteTable, faces: ProviderFaces): ReadonlyMap<unknown, ClientProtocol> {
  const models = new Map<unknown, ClientProtocol>()
  for (const [alias, { providerKind, wire }] of aliases) {
    const relay = lookUpProviderFace(faces, { providerKind, apiMode: 'v1', wire })?.relay
    if (relay !== undefined) models.set(alias, relay.protocol)
  }
  return models
}

function translateOutline(
  job: ChatJob & { body: JsonObject },
  outline: OutlineReader,
  { settings, faces }: Pick<TaskEnvironment, 'settings' | 'faces'>
): Frame | null {
  const { protocol, apiMode, bytes, body } = job
  const request = readChat(job, body, { settings, faces })
  const { plan, face, written, leftOut } = planChat({ protocol, apiMode, request, body }, settings, faces)
  const reused = face.relay?.reuseBody(bytes, body, written.body)
  if (face.relay === undefined || reused === undefined) return null
  const { attachments, headers, path, reading } = written
  const facts = describeDelivery(request, false)
  const call: Frame['call'] = { request, ...facts, plan: Object.freeze(plan), path, headers, attachments, reading }
  if (leftOut.length > 0) call.leftOut = leftOut
  if (face.relay.acceptsResponse(request, reading)) call.acceptsProviderBytes = true
  // No text of the body can look like the list, because its quotes would be written as escapes.
  const start = asBuffer(reused).indexOf(outline.messages)
  return {
    call,
    before: copyApart(reused.subarray(0, start)),
    after: copyApart(reused.subarray(start + outline.messages.length))
  }
}

/** Small buffers share one piece of memory, and a remembered frame would keep all of that piece. */
function copyApart(bytes: Uint8Array): Buffer {
  return asBuffer(new Uint8Array(bytes))
}

/** Up to here a copy costs less than sending pieces. Earns, for larger ones: a sixth of the processor time of a relayed body of 1 MB. */
const JOINED_BYTES_MAX = 256 * 1024

function join({ before, after }: Frame, messages: Buffer): Bytes {
  const pieces = [before, messages, after]
  return messages.byteLength > JOINED_BYTES_MAX ? pieces : Buffer.concat(pieces)
}
