// The short way of a plain chat whose client and provider speak the same protocol: its messages are sent on without being parsed. What
// stands around them is often the same in all requests of a client, so it is translated once and remembered. The result is that of the
// general way, `chat.ts`, which every other chat takes.

import { asBuffer, type Bytes, hasOwnMemory } from '../../shared/bytes.ts'
import { isInScope, type ModelScope } from '../../shared/keys/model-scope.ts'
import { fitsWindow } from '../bridge/output-limit.ts'
import { planChat } from '../bridge/plan-chat.ts'
import type { RouteTable } from '../bridge/resolve-route.ts'
import { type ClientProtocol, GatewayError } from '../normalized/index.ts'
import { rememberCombinations } from '../performance/remember-texts.ts'
import type { OutlineReader, ReadContext } from '../protocols/client-face.ts'
import type { ApiMode } from '../protocols/provider-face.ts'
import { lookUpProviderFace, type ProviderFaces } from '../protocols/registry.ts'
import { editBody } from '../protocols/shared/json/spans.ts'
import { describeDelivery, readChat } from './chat.ts'
import { readJsonObject } from './json-body.ts'
import type { ChatJob, TaskEnvironment, TranslatedChat } from './types.ts'

export interface PlainChats {
  /** Whether any chat of this kind can take the short way. */
  mayTranslate(job: ChatJob): boolean
  /**
   * The translated chat; undefined for one that takes the general way. Costs some 0.4 ms per megabyte, so bodies of any size are read on the
   * event loop. Raises the `GatewayError` of a request that its route does not admit.
   */
  translate(job: ChatJob): TranslatedChat | undefined
}

/**
 * The frame of a model that the key may use. Frames are remembered for all keys, so a model that the key may not use, and a fault that
 * may be in the request of one, are left to the general way, which looks at the model first.
 */
function findScoped(scope: ModelScope, find: () => Frame | null): Frame | null {
  if (scope === undefined) return find()
  try {
    const frame = find()
    return frame !== null && isInScope(scope, frame.call.plan.publicModel) ? frame : null
  } catch (thrown) {
    if (GatewayError.is(thrown)) return null
    throw thrown
  }
}

/** The translated outline of a body: the call without its messages, and the edited bytes around them. */
interface Frame {
  call: Omit<TranslatedChat, 'body'>
  before: Buffer
  after: Buffer
}

/** What decides on a frame besides the text of its outline. */
interface Selection {
  protocol: ClientProtocol
  apiMode: ApiMode
  /** Model and streaming in the URL, in the protocol whose URL contains them. */
  path: ReadContext['path']
}

/** Creates the short way. It remembers outlines as long as it lives, for the routes of `environment`, which never change. */
export function createPlainChats(environment: Pick<TaskEnvironment, 'settings' | 'faces'>): PlainChats {
  const models = listSameWireModels(environment.settings.routes, environment.faces)
  const outlines = new Map([...models.values()].map(({ protocol, outline }) => [protocol, outline]))
  /** null for an outline whose bodies take the general way. */
  const findFrame = rememberCombinations(
    (protocol: ClientProtocol, apiMode: ApiMode, model: string | undefined, isStream: boolean, text: string) => {
      const path = model === undefined ? undefined : { model, isStream }
      return translateOutline({ protocol, apiMode, path }, text, models, environment)
    }
  )
  return {
    // Descriptions and estimates are made of the whole request, and a turn of the gateway's memory has an id of its own (memory.md 3).
    mayTranslate: ({ protocol, description, estimatesTokens, context: { refusesUnsupported, turn } }) =>
      description === undefined &&
      estimatesTokens !== true &&
      refusesUnsupported !== true &&
      turn === undefined &&
      outlines.has(protocol),
    translate({ protocol, apiMode, scope, bytes, context: { requestId, path, wireHeaders = NO_HEADERS } }) {
      const read = outlines.get(protocol)?.read(bytes)
      if (read === undefined) return undefined
      const frame = findScoped(scope, () =>
        findFrame(protocol, apiMode, path?.model, path?.isStream === true, read.text)
      )
      if (frame === null) return undefined
      const { request, plan } = frame.call
      if (plan.capabilities !== undefined && !fitsWindow(request, plan.capabilities, bytes.byteLength)) return undefined
      const body = join(frame, asBuffer(bytes).subarray(read.messages.start, read.messages.end))
      const call: TranslatedChat = { ...frame.call, request: { ...request, requestId, messages: [] }, body }
      if (wireHeaders.length > 0) call.headers = [...call.headers, ...wireHeaders]
      // A large body goes out in pieces that share its memory; a small one was copied.
      if (!(body instanceof Uint8Array) && hasOwnMemory(bytes)) call.ownMemory = bytes
      return call
    }
  }
}

const NO_HEADERS: readonly string[] = []

/** The aliases whose provider speaks a client protocol with plain bodies. */
type SameWireModels = ReadonlyMap<unknown, { protocol: ClientProtocol; outline: OutlineReader }>

function listSameWireModels({ aliases }: RouteTable, faces: ProviderFaces): SameWireModels {
  const models = new Map<unknown, { protocol: ClientProtocol; outline: OutlineReader }>()
  for (const [alias, { providerKind, wire, targets }] of aliases) {
    // The conversation of such a chat is found in its messages.
    if (targets !== undefined) continue
    const sameWire = lookUpProviderFace(faces, { providerKind, apiMode: 'v1', wire })?.sameWire
    const { protocol, outline } = sameWire ?? {}
    if (protocol !== undefined && outline !== undefined) models.set(alias, { protocol, outline })
  }
  return models
}

function translateOutline(
  { protocol, apiMode, path: selected }: Selection,
  text: string,
  models: SameWireModels,
  { settings, faces }: Pick<TaskEnvironment, 'settings' | 'faces'>
): Frame | null {
  const bytes = Buffer.from(text, 'latin1')
  const body = readJsonObject(bytes)
  const known = models.get(selected?.model ?? body.model)
  if (known?.protocol !== protocol) return null
  const { outline } = known
  const context = selected === undefined ? { requestId: '' } : { requestId: '', path: selected }
  const request = readChat({ protocol, apiMode, scope: undefined, context }, body, { settings, faces })
  const { plan, written, edits, leftOut } = planChat({ protocol, apiMode, request, body }, settings, faces)
  const edited = edits === undefined ? undefined : editBody(bytes, body, edits)
  const start = edited?.indexOf(outline.messages) ?? -1
  if (edited === undefined || start < 0) return null
  const { attachments, headers, path, reading } = written
  const facts = describeDelivery(request, true)
  const call: Frame['call'] = { request, ...facts, plan: Object.freeze(plan), path, headers, attachments, reading }
  call.isSameWire = true
  if (leftOut.length > 0) call.leftOut = leftOut
  return {
    call,
    before: copyApart(edited.subarray(0, start)),
    after: copyApart(edited.subarray(start + outline.messages.length))
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
