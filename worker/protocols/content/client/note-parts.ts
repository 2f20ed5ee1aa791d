// What the normalized form does not carry of the parts of a generateContent request (decisions.md 69 and 75).

import { isJsonObject, type JsonObject, type JsonValue, type NormalizedRequest } from '../../../normalized/index.ts'
import { joinPath } from '../../shared/members/field.ts'
import type { PartSink } from '../../shared/members/members.ts'
import { listContents } from './read-contents.ts'
import { listParts } from './read-parts.ts'
import { isWithoutData, readMember, spell } from './spelling.ts'
import { readThoughtSignature } from './thought-signature.ts'

/** Kinds of parts that other wires have. Members beside them say nothing about the text or the call. */
const CARRIED_KINDS = ['text', 'inlineData', 'functionCall', 'functionResponse'] as const

/** Notes parts that do not reach a provider. */
export function noteParts(body: JsonObject, _request: NormalizedRequest, sink: PartSink): void {
  noteInstruction(body, sink)
  const contents = listContents(body.contents, 'contents')
  const lastAnswer = contents.findLastIndex(({ content }) => content.role === 'model')
  for (const [index, { content, path }] of contents.entries()) {
    for (const { part, path: at } of listParts(content, path))
      notePart(part, { path: at, isNew: index > lastAnswer }, sink)
  }
}

/** An instruction is a text on other wires. */
function noteInstruction(body: JsonObject, sink: PartSink): void {
  const member = spell(body, 'systemInstruction')
  const instruction = body[member]
  if (!isJsonObject(instruction) || isEmpty(instruction.parts)) return
  for (const { part, path } of listParts(instruction, member)) {
    if (readMember(part, 'text') === undefined) leaveOut(part, path, sink)
  }
}

/** `systemInstruction` may have no parts. */
function isEmpty(parts: JsonValue | undefined): boolean {
  return parts === undefined || parts === null || (Array.isArray(parts) && parts.length === 0)
}

function leaveOut(part: JsonObject, path: string, sink: PartSink): void {
  const [member] = Object.keys(part)
  if (member !== undefined && !isWithoutData(part)) sink.leaveOut(joinPath(path, member), 'part_not_expressed')
}

/** @param place.isNew the model has to read the part in this turn. */
function notePart(part: JsonObject, { path, isNew }: { path: string; isNew: boolean }, sink: PartSink): void {
  const file = spell(part, 'fileData')
  if (isNew && (part[file] ?? undefined) !== undefined) sink.refuse(joinPath(path, file), 'media_not_expressed')
  else if (CARRIED_KINDS.every(kind => readMember(part, kind) === undefined)) leaveOut(part, path, sink)
  const member = spell(part, 'thoughtSignature')
  // The gateway's own signatures hold the id of a call, or state that only its provider reads.
  const isForeign = readThoughtSignature(part[member]).state?.content_compatible?.thoughtSignature !== undefined
  if (isForeign) sink.drop(joinPath(path, member), 'signature_of_another_service')
}

/** The path in the client's spelling. The schema of the output has two names. The path of a part is in that spelling already. */
export function spellField(body: JsonObject, field: string): string {
  if (field.includes('[')) return field
  const spelled: string[] = []
  let source: JsonValue | undefined = body
  for (const name of field.split('.')) {
    const holder: JsonObject = isJsonObject(source) ? source : {}
    const isOtherName = name === 'responseSchema' && readMember(holder, name) === undefined
    const member = spell(holder, isOtherName ? 'responseJsonSchema' : name)
    spelled.push(member)
    source = holder[member]
  }
  return spelled.join('.')
}
