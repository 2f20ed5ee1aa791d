// Selects the parts of the client's messages that are sent as files, within the upstream's limits. The body holds a placeholder
// for each file that must be uploaded first; the executor replaces it (completions.md 4.4, upstream.md 8).

import {
  type FilePart,
  GatewayError,
  type ImagePart,
  type MediaSource,
  type NormalizedMessage,
  type NormalizedRequest
} from '../../normalized/index.ts'
import type { PendingAttachment } from '../provider-face.ts'
import { countDecodedBytes } from '../shared/media/described-media.ts'
import { ATTACHMENTS_PER_MESSAGE_MAX, ATTACHMENTS_PER_REQUEST_MAX } from './constants.ts'
import { findMediaKind, type MediaKind } from './media-types.ts'
import type { AttachmentLimits } from './options.ts'

export type MediaPart = ImagePart | FilePart

/**
 * Lists the media of one message and of its tool results, each source once, up to the limit of a message. The limit does not apply to
 * files that the client uploaded itself.
 */
export function selectMedia(
  message: NormalizedMessage,
  options: { isImageInputEnabled: boolean }
): { media: MediaPart[]; dropped: number } {
  const listed = listMedia(message)
  const uploaded = listUploaded(message)
  if (listed.length === 0) return { media: uploaded, dropped: 0 }
  const media: MediaPart[] = []
  let dropped = 0
  for (const part of listed) {
    if (!options.isImageInputEnabled && isImage(part)) continue
    if (media.some(known => isSameSource(known.source, part.source))) continue
    if (media.length < ATTACHMENTS_PER_MESSAGE_MAX) media.push(part)
    else dropped++
  }
  return { media: [...media, ...uploaded], dropped }
}

function listUploaded({ uploadedFiles }: NormalizedMessage): MediaPart[] {
  if (uploadedFiles === undefined) return []
  const { fileIds, path } = uploadedFiles
  return fileIds.map(fileId => ({ type: 'file', source: { kind: 'file-id', fileId }, path }))
}

function listMedia(message: NormalizedMessage): MediaPart[] {
  const media: MediaPart[] = []
  for (const part of message.content) {
    if (part.type === 'image' || part.type === 'file') media.push(part)
    else if (part.type === 'tool-result') {
      for (const nested of part.content) if (nested.type === 'image' || nested.type === 'file') media.push(nested)
    }
  }
  return media
}

/** An image also where the client sent it as a file. */
export function isImage(part: MediaPart): boolean {
  if (part.type === 'image') return true
  return part.source.kind === 'bytes' && kindOf(part, part.source.mediaType) === 'image'
}

/** The kind of a part whose bytes have this type; undefined when the upstream does not accept it. */
export function kindOf(part: MediaPart, mediaType: string): MediaKind | undefined {
  return findMediaKind({ mediaType, filename: part.type === 'file' ? part.filename : undefined })
}

function isSameSource(left: MediaSource, right: MediaSource): boolean {
  switch (left.kind) {
    case 'url':
      return right.kind === 'url' && left.url === right.url
    case 'file-id':
      return right.kind === 'file-id' && left.fileId === right.fileId
    case 'bytes':
      return right.kind === 'bytes' && left.base64 === right.base64
  }
}

export interface AttachmentPlan {
  /** For each turn the file ids or placeholders of its message; an empty list when no turn has media. */
  fileIds: string[][]
  pending: PendingAttachment[]
  /** Attachments beyond the limit of a request. */
  dropped: number
}

/**
 * Decides which media are sent: those of the newest turns first, up to the limit of a request.
 * Raises `request_entity_too_large` and, for a type that the upstream does not accept, `unsupported_media_type`.
 * @param mediaOfTurns the media of every turn, oldest first.
 */
export function planAttachments(
  mediaOfTurns: ReadonlyArray<readonly MediaPart[]>,
  context: { request: NormalizedRequest; limits: AttachmentLimits; reserved: number }
): AttachmentPlan {
  if (mediaOfTurns.every(media => media.length === 0)) return { fileIds: [], pending: [], dropped: 0 }
  let room = Math.max(0, ATTACHMENTS_PER_REQUEST_MAX - context.reserved)
  let dropped = 0
  const kept: MediaPart[][] = mediaOfTurns.map(() => [])
  for (let index = mediaOfTurns.length - 1; index >= 0; index--) {
    const media = mediaOfTurns[index] ?? []
    const taken = media.slice(0, room)
    kept[index] = taken
    room -= taken.length
    dropped += media.length - taken.length
  }
  const uploads = new UploadList(context.request, context.limits)
  const fileIds = kept.map(media => [...new Set(media.map(part => uploads.add(part)))])
  return { fileIds, pending: uploads.pending, dropped }
}

/** Collects the files to upload: each source once, even when several messages contain it. */
class UploadList {
  readonly pending: PendingAttachment[] = []
  readonly #request: NormalizedRequest
  readonly #limits: AttachmentLimits
  readonly #placeholders = new Map<string, string>()
  #audioAndImageBytes = 0

  constructor(request: NormalizedRequest, limits: AttachmentLimits) {
    this.#request = request
    this.#limits = limits
  }

  /** The file id of a part, or the placeholder for it. */
  add(part: MediaPart): string {
    const { source } = part
    if (source.kind === 'file-id') return source.fileId
    const key = source.kind === 'url' ? source.url : source.base64
    const known = this.#placeholders.get(key)
    if (known !== undefined) return known
    // An error names the protocol's member for all attachments where it has one, else the part.
    const param = this.#request.fieldPaths.attachments ?? part.path
    if (source.kind === 'bytes') this.#checkSize(part, { ...source, param })
    const placeholder = `gateway-attachment/${this.#request.requestId}/${this.pending.length}`
    this.#placeholders.set(key, placeholder)
    const filename = part.type === 'file' ? part.filename : undefined
    this.pending.push({ placeholder, source, ...(filename === undefined ? {} : { filename }), path: param })
    return placeholder
  }

  #checkSize(part: MediaPart, file: { mediaType: string; base64: string; param: string }): void {
    const { param } = file
    const kind = kindOf(part, file.mediaType)
    if (kind === undefined) {
      const message = 'The media type of an attachment is not supported.'
      throw new GatewayError('unsupported_media_type', { param, message })
    }
    const bytes = countDecodedBytes(file.base64)
    if (kind !== 'text') this.#audioAndImageBytes += bytes
    const isTooLarge =
      bytes > this.#limits[`${kind}BytesMax`] || this.#audioAndImageBytes > this.#limits.audioAndImageBytesMax
    if (isTooLarge) {
      throw new GatewayError('request_entity_too_large', { param, message: 'An attachment is too large.' })
    }
  }
}
