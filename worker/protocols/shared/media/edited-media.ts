// Media of a conversation on the client's own wire that the alias cannot read: described in earlier turns and in results of tools, refused
// where the newest turn of the user holds them (decisions.md 72 and 75).

import {
  type ContentPart,
  findNewestTurn,
  isUserTurn,
  type JsonObject,
  type NormalizedMessage
} from '../../../normalized/index.ts'
import type { JsonEdits, Place } from '../json/edits.ts'
import {
  describeMedia,
  findMediaType,
  hasRefusedAddress,
  isImage,
  type MediaPart,
  PDF,
  readsFiles,
  readsImages,
  readTextFile,
  refuseMedia,
  type UnreadReason
} from './described-media.ts'
import type { AddressRules } from './media-address.ts'

export interface EditedMedia {
  messages: readonly NormalizedMessage[]
  /** What the alias declares; undefined for all. */
  features: readonly string[] | undefined
  /** Which addresses may go to the provider. */
  addresses: AddressRules
  /** Models of the wire that read images read the pages of a PDF as such. */
  readsPages: boolean
  /** Puts a text in the place of a part of the body. */
  putText(place: Place, text: string, edits: JsonEdits): void
}

/**
 * Describes what the alias cannot read. Raises `unsupported_semantic` with the client's field.
 * @returns the client's fields that are described.
 */
export function editMedia(
  { messages, features, addresses, readsPages, putText }: EditedMedia,
  edits: JsonEdits
): string[] {
  const leftOut: string[] = []
  function findReason(part: MediaPart): UnreadReason | undefined {
    if (hasRefusedAddress(part, addresses)) return 'address'
    if (isImage(part)) return readsImages(features) ? undefined : 'images'
    const isRead = readsFiles(features) || readTextFile(part) !== undefined
    return isRead || (readsPages && readsImages(features) && isPdf(part)) ? undefined : 'files'
  }

  function editPart(part: ContentPart, isNewest: boolean): void {
    if (part.type === 'tool-result') for (const inner of part.content) editPart(inner, false)
    if (part.type !== 'image' && part.type !== 'file') return
    const reason = findReason(part)
    if (reason === undefined) return
    if (isNewest) throw refuseMedia(part, reason)
    putText(readPlace(part.path), describeMedia(part, reason), edits)
    leftOut.push(part.path)
  }

  const newestTurn = findNewestTurn(messages)
  for (const [index, message] of messages.entries()) {
    const isNewest = index >= newestTurn && isUserTurn(message)
    for (const part of message.content) editPart(part, isNewest)
  }
  return leftOut
}

/** The service finds out itself what stands at an address without a media type. */
function isPdf(part: MediaPart): boolean {
  const mediaType = findMediaType(part)
  return mediaType === PDF || (mediaType === '' && part.source.kind === 'url')
}

/** The place of a part by its path, such as `messages[0].content[1]`. */
function readPlace(path: string): Place {
  return path
    .split(/[.[\]]+/)
    .filter(step => step !== '')
    .map(step => (/^\d+$/.test(step) ? Number(step) : step))
}

/** Puts a text part in the place of a part that has a type. */
export function putTextPart(place: Place, text: string, edits: JsonEdits): void {
  const part: JsonObject = { type: 'text', text }
  edits.set(place, part)
}
