// The body of a content request on its way to a provider of the same wire: the client's own. The path names the model.

import { isJsonObject, type JsonObject, type JsonValue } from '../../../normalized/index.ts'
import { dropOwnMembers } from '../../shared/passed-body.ts'
import { readMember, spell } from '../client/spelling.ts'
import { isOwnSignature, NO_SIGNATURE } from '../client/thought-signature.ts'
import { writeModelName } from './endpoints.ts'
import { needsSignedCalls } from './generations.ts'

/**
 * Every member that stays is the same value as in `body`, and the body itself is returned where all of them stay. Left out are members of
 * the gateway, the model, and signatures of the gateway: the service refuses a signature that it did not write.
 */
export function writePassedBody(body: JsonObject, upstreamModel: string | undefined): JsonObject {
  const passed = dropModel(dropOwnMembers(body))
  const { contents } = passed
  const cleaned = dropOwnSignatures(contents, needsSignedCalls(upstreamModel))
  return cleaned === contents ? passed : { ...passed, contents: cleaned }
}

/** The same for a token count, which may have a whole request as a member; that one names its model. */
export function writePassedTokenCount(body: JsonObject, upstreamModel: string | undefined): JsonObject {
  const member = spell(body, 'generateContentRequest')
  const request = body[member]
  if (!isJsonObject(request)) return writePassedBody(body, upstreamModel)
  const counted = { ...writePassedBody(request, upstreamModel), model: writeModelName(upstreamModel) }
  return { ...dropModel(dropOwnMembers(body)), [member]: counted }
}

/** The alias is no name for the provider. */
function dropModel(body: JsonObject): JsonObject {
  if (!Object.hasOwn(body, 'model')) return body
  const { model: _model, ...rest } = body
  return rest
}

/** @param isSigned the model refuses calls without a signature in the current turn. */
function dropOwnSignatures(contents: JsonValue | undefined, isSigned: boolean): JsonValue | undefined {
  if (Array.isArray(contents)) {
    if (!contents.some(hasOwnSignature)) return contents
    return contents.flatMap(content => {
      const cleaned = cleanContent(content, isSigned)
      return cleaned === undefined ? [] : [cleaned]
    })
  }
  return contents !== undefined && hasOwnSignature(contents) ? cleanContent(contents, isSigned) : contents
}

/** Undefined for a content of which nothing is left. */
function cleanContent(content: JsonValue, isSigned: boolean): JsonValue | undefined {
  if (!isJsonObject(content) || !hasOwnSignature(content)) return content
  const parts = listParts(content).flatMap(part => {
    const cleaned = cleanPart(part, isSigned)
    return cleaned === undefined ? [] : [cleaned]
  })
  return parts.length === 0 ? undefined : { ...content, parts }
}

/** A call keeps its place for a signature; a thought of another provider, and a text that only held its state, are left out. */
function cleanPart(part: JsonValue, isSigned: boolean): JsonValue | undefined {
  if (!isJsonObject(part) || !isOwnSigned(part)) return part
  const member = spell(part, 'thoughtSignature')
  const { [member]: _signature, ...rest } = part
  if (part.thought === true || part.text === '') return undefined
  return isSigned && readMember(part, 'functionCall') !== undefined ? { ...rest, [member]: NO_SIGNATURE } : rest
}

function hasOwnSignature(content: JsonValue): boolean {
  return isJsonObject(content) && listParts(content).some(isOwnSigned)
}

function isOwnSigned(part: JsonValue): boolean {
  return isJsonObject(part) && isOwnSignature(readMember(part, 'thoughtSignature'))
}

/** A single part needs no list. */
function listParts({ parts }: JsonObject): readonly JsonValue[] {
  if (Array.isArray(parts)) return parts
  return parts === undefined ? [] : [parts]
}
