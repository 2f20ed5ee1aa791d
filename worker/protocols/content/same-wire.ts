// Content requests on their way to a provider of the same protocol, and its responses back (ADR 2026-11-29-one-same-wire-mechanism). The
// path names the model.

import { asBuffer } from '../../../shared/bytes.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../normalized/index.ts'
import type { SameWireCodec } from '../provider-face.ts'
import { JsonEdits, type Place } from '../shared/json/edits.ts'
import { createLoneText, replaceLoneText } from '../shared/json/lone-text.ts'
import { plainContents } from '../shared/json/plain-body.ts'
import { editJson } from '../shared/json/spans.ts'
import { type EditedMedia, editMedia } from '../shared/media/edited-media.ts'
import { editOwnMembers } from '../shared/members/own-members.ts'
import { boundLimit } from '../shared/output-limit.ts'
import { editFrameData, isEndMark } from '../shared/stream/frame-data.ts'
import { STREAM_HEADERS, WIRE_HEADERS } from '../shared/wire-headers.ts'
import { isWithoutData, readMember, spell } from './client/spelling.ts'
import { isOwnSignature, NO_SIGNATURE } from './client/thought-signature.ts'
import { contentCompatibleTokenCount } from './provider/count-tokens.ts'
import { writeMethodPath, writeModelName } from './provider/endpoints.ts'
import { needsSignedCalls } from './provider/generations.ts'
import type { ContentCompatibleOptions } from './provider/options.ts'
import type { ContentCompatibleReading } from './provider/reading.ts'

/** Nothing of the body was written in another form. */
const READING: ContentCompatibleReading = { toolNames: new Map(), droppedToolCalls: 0, isPassed: true }

/** Members that an `extra_body` may not set: admission has decided on them. */
const DECIDED: ReadonlySet<string> = new Set([
  'contents',
  'generationConfig',
  'generation_config',
  'model',
  'systemInstruction',
  'system_instruction',
  'toolConfig',
  'tool_config',
  'tools'
])

export const contentSameWire: SameWireCodec<ContentCompatibleOptions, ContentCompatibleReading> = {
  protocol: 'content',
  outline: plainContents,
  readFacts: ({ tools }) => ({
    isStream: false,
    wantsStreamUsage: false,
    hasTools: Array.isArray(tools) && tools.length > 0
  }),
  writeChat(body, target, options) {
    const { upstreamModel, outputTokensMax, isStream, features, isLocal, messages = [], wireHeaders = [] } = target
    const addresses = { isLocal, hasStorage: true }
    const edits = new JsonEdits()
    const leftOut = editRequest(body, edits, upstreamModel)
    leftOut.push(...boundTokens(body, edits, outputTokensMax))
    const putText = describeMediaOf(body.contents)
    leftOut.push(...editMedia({ messages, features, addresses, readsPages: true, putText }, edits))
    const method = isStream ? 'streamGenerateContent' : 'generateContent'
    return {
      method: 'POST',
      path: writeMethodPath(upstreamModel, method, options) + (isStream ? '?alt=sse' : ''),
      headers: [...(isStream ? STREAM_HEADERS : WIRE_HEADERS), ...wireHeaders],
      body: edits.applyTo(body),
      edits,
      attachments: [],
      reading: READING,
      ...(leftOut.length > 0 && { leftOut })
    }
  },
  tokenCount: {
    write(body, { upstreamModel, wireHeaders = [] }, options) {
      const edits = editTokenCount(body, upstreamModel)
      return {
        method: 'POST',
        path: writeMethodPath(upstreamModel, 'countTokens', options),
        headers: [...WIRE_HEADERS, ...wireHeaders],
        body: edits.applyTo(body),
        edits
      }
    },
    read: body => contentCompatibleTokenCount.read(body, { count: 1 })[0] ?? 0
  },
  createEditor({ publicModel }) {
    // Names the model in a whole response and in every chunk of a stream.
    const edits = new JsonEdits()
    edits.replaceText(['modelVersion'], publicModel)
    const lone = createLoneText('modelVersion', publicModel)
    const editData = (data: Buffer) => replaceLoneText(data, lone) ?? editJson(data, edits).edited
    return {
      editBody: bytes => editData(asBuffer(bytes)),
      editFrame: frame => (isEndMark(asBuffer(frame)) ? NO_FRAME : editFrameData(asBuffer(frame), editData))
    }
  }
}

const NO_FRAME = Buffer.alloc(0)
/** The service refuses a signature that it did not write. */
function editRequest(body: JsonObject, edits: JsonEdits, upstreamModel: string | undefined): string[] {
  const leftOut = editOwnMembers(body, edits, DECIDED)
  // The alias is no name for the provider.
  if (Object.hasOwn(body, 'model')) edits.drop('model')
  const { contents } = body
  const isSigned = needsSignedCalls(upstreamModel)
  if (Array.isArray(contents)) {
    for (const [index, content] of contents.entries())
      editContent(content, edits, { place: ['contents', index], isSigned })
  } else editContent(contents, edits, { place: ['contents'], isSigned })
  return leftOut
}

/** A token count may have a whole request as a member; that one names its model. */
function editTokenCount(body: JsonObject, upstreamModel: string | undefined): JsonEdits {
  const edits = new JsonEdits()
  editRequest(body, edits, upstreamModel)
  const member = spell(body, 'generateContentRequest')
  const request = body[member]
  if (!isJsonObject(request)) return edits
  const { model: _model, ...nameless } = request
  editRequest(nameless, edits.at(member), upstreamModel)
  edits.set([member, 'model'], writeModelName(upstreamModel))
  return edits
}

/**
 * Describes media in its own place; media of a function response, inside or beside it, in a member
 * of the response: the service takes no text beside a response.
 */
function describeMediaOf(contents: JsonValue | undefined): EditedMedia['putText'] {
  return (member, text, edits) => {
    // The path of media names the member of the part.
    const place = member.slice(0, -1)
    const name = `media_${place.at(-1) ?? 0}`
    const at = place.findIndex(step => step === 'functionResponse' || step === 'function_response')
    const response = at === -1 ? findResponseBeside(contents, place) : place.slice(0, at + 1)
    if (response === undefined) return edits.set(place, { text })
    edits.drop(...place)
    edits.set([...response, 'response', name], text)
  }
}

/** The place of the last function response in the content of a part; undefined where it has none. */
function findResponseBeside(contents: JsonValue | undefined, place: Place): Place | undefined {
  const at = typeof place[1] === 'number' ? place[1] : undefined
  const content = Array.isArray(contents) && at !== undefined ? contents[at] : contents
  const parts = isJsonObject(content) ? content.parts : undefined
  if (!Array.isArray(parts)) return undefined
  const index = parts.findLastIndex(
    part => isJsonObject(part) && isJsonObject(readMember(readResponse(part), 'response'))
  )
  const part = parts[index]
  return isJsonObject(part) ? [...place.slice(0, -1), index, spell(part, 'functionResponse')] : undefined
}

function readResponse(part: JsonObject): JsonObject {
  const response = readMember(part, 'functionResponse')
  return isJsonObject(response) ? response : {}
}

/** Bounds the output, and a budget of thinking below it (decisions.md 72). */
function boundTokens(body: JsonObject, edits: JsonEdits, outputTokensMax: number | undefined): string[] {
  const holder = spell(body, 'generationConfig')
  const config = body[holder]
  if (!isJsonObject(config)) return []
  const member = spell(config, 'maxOutputTokens')
  const bounded = boundLimit(config[member], outputTokensMax)
  if (bounded === undefined) return []
  edits.set([holder, member], bounded)
  const thinkingMember = spell(config, 'thinkingConfig')
  const thinking = config[thinkingMember]
  const budgetMember = isJsonObject(thinking) ? spell(thinking, 'thinkingBudget') : ''
  const budget = isJsonObject(thinking) ? thinking[budgetMember] : undefined
  if (typeof budget !== 'number' || budget < bounded) return [`${holder}.${member}`]
  edits.set([holder, thinkingMember, budgetMember], bounded - 1)
  return [`${holder}.${member}`, `${holder}.${thinkingMember}.${budgetMember}`]
}

interface ContentPlace {
  place: Place
  /** The model refuses calls without a signature in the current turn. */
  isSigned: boolean
}

function editContent(content: JsonValue | undefined, edits: JsonEdits, { place, isSigned }: ContentPlace): void {
  if (!isJsonObject(content)) return
  const { parts } = content
  const list = Array.isArray(parts) ? parts : [parts]
  if (list.length > 0 && list.every(isGone)) {
    edits.drop(...place)
    return
  }
  for (const [index, part] of list.entries()) {
    const at = Array.isArray(parts) ? [...place, 'parts', index] : [...place, 'parts']
    if (isGone(part)) edits.drop(...at)
    else if (isOwnSigned(part)) editSignature(part, edits, { place: at, isSigned })
  }
}

/** A call keeps its place for a signature. */
function editSignature(part: JsonObject, edits: JsonEdits, { place, isSigned }: ContentPlace): void {
  const member = spell(part, 'thoughtSignature')
  if (isSigned && readMember(part, 'functionCall') !== undefined) edits.set([...place, member], NO_SIGNATURE)
  else edits.drop(...place, member)
}

/**
 * A part without data, which the service refuses (decisions.md 109), a thought of another provider, and a text that
 * only held its state, are left out.
 */
function isGone(part: JsonValue | undefined): boolean {
  if (!isJsonObject(part)) return false
  if (isOwnSigned(part)) return part.thought === true || part.text === '' || isWithoutData(part)
  return isWithoutData(part) && readMember(part, 'thoughtSignature') === undefined
}

function isOwnSigned(part: JsonValue | undefined): part is JsonObject {
  return isJsonObject(part) && isOwnSignature(readMember(part, 'thoughtSignature'))
}
