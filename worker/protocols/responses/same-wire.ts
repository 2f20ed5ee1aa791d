// Responses requests on their way to a provider of the same protocol, and its responses back (ADR 2026-11-29-one-same-wire-mechanism). Hosted
// and custom tools, encrypted reasoning, `store` and `previous_response_id` are the provider's (decisions.md 86).

import { asBuffer } from '../../../shared/bytes.ts'
import { isJsonObject, type JsonObject, type JsonValue, type ResponseTurn } from '../../normalized/index.ts'
import type { SameWireCodec, SameWireTarget } from '../provider-face.ts'
import { JsonEdits, type Place } from '../shared/json/edits.ts'
import { plainInput } from '../shared/json/plain-body.ts'
import { editJson } from '../shared/json/spans.ts'
import { refuseJsonWithoutSchema } from '../shared/json-object-format.ts'
import { editMedia } from '../shared/media/edited-media.ts'
import { editOwnMembers } from '../shared/members/own-members.ts'
import { boundLimit } from '../shared/output-limit.ts'
import { isStateSignature } from '../shared/state-signature.ts'
import { editFrameData, isEndMark } from '../shared/stream/frame-data.ts'
import { STREAM_HEADERS, WIRE_HEADERS } from '../shared/wire-headers.ts'
import { introduceSummary, isSealedSummary, openSummary, unopened } from './client/compaction.ts'
import type { ResponsesCompatibleOptions } from './provider/options.ts'
import type { ResponsesCompatibleReading } from './provider/reading.ts'
import { toWireCallId } from './provider/write-input.ts'

/** Nothing of the body was written in another form. */
const READING: ResponsesCompatibleReading = { toolNames: new Map(), droppedToolCalls: 0 }

const LIMIT = 'max_output_tokens'
const OTHER_LIMIT = 'max_tokens'
const LIMITS = [LIMIT, OTHER_LIMIT] as const

/** Members that an `extra_body` may not set: admission has decided on them. */
const DECIDED: ReadonlySet<string> = new Set([
  'input',
  'instructions',
  ...LIMITS,
  'model',
  'parallel_tool_calls',
  'previous_response_id',
  'reasoning',
  'stream',
  'text',
  'tool_choice',
  'tools'
])

export const responsesSameWire: SameWireCodec<ResponsesCompatibleOptions, ResponsesCompatibleReading> = {
  protocol: 'responses',
  outline: plainInput,
  readFacts: ({ stream, tools }) => ({
    isStream: stream === true,
    wantsStreamUsage: false,
    hasTools: Array.isArray(tools) && tools.length > 0
  }),
  writeChat(body, target, { responsesPath }) {
    const {
      isStream,
      upstreamModel,
      outputTokensMax,
      features,
      isLocal,
      messages = [],
      wireHeaders = [],
      compactionKey,
      turn
    } = target
    const media = { messages, features, addresses: { isLocal }, readsPages: true, putText }
    const edits = new JsonEdits()
    const leftOut = editOwnMembers(body, edits, DECIDED)
    if (upstreamModel !== undefined) edits.set(['model'], upstreamModel)
    leftOut.push(...editLimit(body, edits, outputTokensMax), ...editUndeclared(body, edits, target))
    if (Array.isArray(body.input)) {
      const isOurs = turn !== undefined
      for (const [index, item] of body.input.entries()) editItem(item, edits, { index, isOurs, compactionKey })
    }
    if (turn !== undefined) askForState(body, edits, target)
    leftOut.push(...editMedia(media, edits))
    return {
      method: 'POST',
      path: responsesPath,
      headers: [...(isStream ? STREAM_HEADERS : WIRE_HEADERS), ...wireHeaders],
      body: edits.applyTo(body),
      edits,
      attachments: [],
      reading: writeReading(body, turn),
      ...(leftOut.length > 0 && { leftOut })
    }
  },
  createEditor({ publicModel, reading }) {
    const ofBody = new JsonEdits()
    editResponse(ofBody, [], { publicModel, reading })
    const ofFrame = new JsonEdits()
    editResponse(ofFrame, ['response'], { publicModel, reading })
    return {
      editBody: bytes => editJson(asBuffer(bytes), ofBody).edited,
      editFrame(frame) {
        const buffer = asBuffer(frame)
        if (isEndMark(buffer)) return NO_FRAME
        return mayNameModel(buffer) ? editFrameData(buffer, data => editJson(data, ofFrame).edited) : buffer
      }
    }
  }
}

function writeReading(body: JsonObject, turn: ResponseTurn | undefined): ResponsesCompatibleReading {
  if (turn !== undefined) return { ...READING, turn }
  return body.background === true ? { ...READING, isBackground: true } : READING
}

/** Gives a response object the client's model, and what the gateway's own memory says of it where it keeps the state (memory.md 3). */
function editResponse(
  edits: JsonEdits,
  place: Place,
  { publicModel, reading }: { publicModel: string; reading: ResponsesCompatibleReading }
): void {
  edits.replaceText([...place, 'model'], publicModel)
  const { turn } = reading
  if (turn === undefined) return
  edits.set([...place, 'id'], turn.id)
  edits.set([...place, 'store'], turn.isStored)
  if (turn.createdAt !== undefined) edits.set([...place, 'created_at'], turn.createdAt)
  if (turn.isBackground === true) edits.set([...place, 'background'], true)
  edits.set([...place, 'previous_response_id'], turn.previousResponseId ?? null)
  if (turn.conversationId !== undefined) edits.set([...place, 'conversation'], { id: turn.conversationId })
}

/** The form in which reasoning goes back with the next turn where the provider stores nothing. */
const ENCRYPTED_REASONING = 'reasoning.encrypted_content'

/** Asks for reasoning that the next turn can send back. Services refuse the wish for models that do not reason. */
function askForState({ include }: JsonObject, edits: JsonEdits, { features }: SameWireTarget): void {
  if (features?.includes('reasoning_effort') === false) return
  const asked = Array.isArray(include) ? include : []
  if (!asked.includes(ENCRYPTED_REASONING)) edits.set(['include'], [...asked, ENCRYPTED_REASONING])
}

const NO_FRAME = Buffer.alloc(0)
/** Only the events with the whole response name the model: the others are not stepped through. An escape may spell any name. */
function mayNameModel(frame: Buffer): boolean {
  return frame.includes('"response"') || frame.includes('\\u')
}

/** Bounds the output limit. The name of chat completions is not of the wire: the gateway takes it as another name of the limit. */
function editLimit(body: JsonObject, edits: JsonEdits, outputTokensMax: number | undefined): string[] {
  const [name] = LIMITS.filter(limit => (body[limit] ?? null) !== null)
  if (name === undefined) return []
  const bounded = boundLimit(body[name], outputTokensMax)
  if (bounded !== undefined) edits.set([name], bounded)
  if (name === OTHER_LIMIT && !Object.hasOwn(body, LIMIT)) edits.rename([name], LIMIT)
  else if (Object.hasOwn(body, OTHER_LIMIT)) edits.drop(OTHER_LIMIT)
  return bounded === undefined ? [] : [name]
}

/** What the alias does not declare: an effort is left out, and JSON without a schema is refused (decisions.md 69 and 74). */
function editUndeclared(body: JsonObject, edits: JsonEdits, { features }: SameWireTarget): string[] {
  const { reasoning, text } = body
  const format = isJsonObject(text) ? text.format : undefined
  const isJsonMode = isJsonObject(format) && format.type === 'json_object'
  if (isJsonMode && features?.includes('json_object_output') === false)
    throw refuseJsonWithoutSchema('text.format.type')
  const effort = isJsonObject(reasoning) ? (reasoning.effort ?? null) : null
  if (effort === null || features?.includes('reasoning_effort') !== false) return []
  edits.drop('reasoning', 'effort')
  return ['reasoning.effort']
}

function putText(member: Place, text: string, edits: JsonEdits): void {
  edits.set(member, { type: 'input_text', text })
}

/** What the stream helper of the official SDK adds to a call, and to a text; the service refuses both. */
const PARSED_ARGUMENTS = 'parsed_arguments'
const PARSED = 'parsed'

/** Members of items that only the gateway or an SDK writes. */
const OWN_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  image_generation_call: ['file_id', 'mime', 'target'],
  function_call: [PARSED_ARGUMENTS, 'tools_state_id', 'tool_state_id', 'functions_state_id', 'function_state_id'],
  function_call_output: ['tools_state_id', 'tool_state_id', 'functions_state_id', 'function_state_id']
}

/** An item that only the gateway writes: a model of a hosted tool that no provider of this wire has. */
const OWN_ITEM = 'model_3d_generate_call'

interface ItemSurroundings {
  index: number
  /** The gateway keeps the state: the provider knows no item by its id. */
  isOurs: boolean
  compactionKey: Uint8Array | undefined
}

/** Takes out of an item of the history what only the gateway or an SDK wrote. */
function editItem(item: JsonValue, edits: JsonEdits, { index, isOurs, compactionKey }: ItemSurroundings): void {
  if (!isJsonObject(item)) return
  const { type, call_id: callId, content } = item
  if (compactionKey !== undefined && isSealedSummary(item.encrypted_content)) {
    const summary = openSummary(item.encrypted_content, compactionKey)
    if (summary === undefined) throw unopened(`input[${index}]`)
    const text = introduceSummary(summary)
    edits.set(['input', index], { type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
    return
  }
  const isUnreadable = (): boolean => isOwnReasoning(item) || (isOurs && typeof item.encrypted_content !== 'string')
  if (type === OWN_ITEM || (type === 'reasoning' && isUnreadable())) {
    edits.drop('input', index)
    return
  }
  // Calls are always kept, also those of a service with longer ids (decisions.md 75).
  if (typeof callId === 'string' && toWireCallId(callId) !== callId) {
    edits.set(['input', index, 'call_id'], toWireCallId(callId))
    // The id of such an item has the long id of its call in it.
    if (Object.hasOwn(item, 'id')) edits.drop('input', index, 'id')
  }
  const own = typeof type === 'string' && Object.hasOwn(OWN_MEMBERS, type) ? OWN_MEMBERS[type] : undefined
  for (const name of own ?? []) if (Object.hasOwn(item, name)) edits.drop('input', index, name)
  if (!Array.isArray(content)) return
  for (const [number, part] of content.entries()) {
    if (!isJsonObject(part)) continue
    for (const name of ['inline_data', PARSED]) {
      if (Object.hasOwn(part, name)) edits.drop('input', index, 'content', number, name)
    }
  }
}

/** The ids of the gateway have a uuid in them, with its hyphens; those of services have none. */
const OWN_ID = /^rs_[0-9a-f]{8}-[0-9a-f]{4}-/

/** Reasoning of another provider: with its state, or as a mere summary, whose id this provider does not know. */
function isOwnReasoning({ id, encrypted_content: content }: JsonObject): boolean {
  if (typeof content === 'string') return isStateSignature(content)
  return typeof id === 'string' && OWN_ID.test(id)
}
