// Brings a request's attachments to the upstream before its body goes out: bytes are decoded, URLs
// fetched, both checked against the limits and uploaded (completions.md 4.4). An attachment is
// never silently missing.

import { createHash, randomUUID } from 'node:crypto'
import { GatewayError } from '../../../normalized/index.ts'
import type { MediaKind } from '../../../protocols/native/media-types.ts'
import type { AttachmentLimits } from '../../../protocols/native/options.ts'
import type { PendingAttachment } from '../../../protocols/provider-face.ts'
import type { GuardedDownload } from '../../egress/guarded-download.ts'
import type { Gate } from '../../http/gate.ts'
import type { CallContext } from '../../types.ts'
import type { FileCalls } from '../files.ts'
import { type AttachmentType, classifyAttachment, mediaSubtype } from './media-type.ts'
import type { UploadCache, UploadedFile } from './upload-cache.ts'

export interface AttachmentUploader {
  /**
   * Uploads attachments and resolves with the file id for each placeholder. Rejects with `GatewayError`: `invalid_url`,
   * `attachment_download_failed`, `request_entity_too_large` and `unsupported_media_type` with the attachment's own path, or the
   * upstream's error about the upload.
   */
  upload(attachments: readonly PendingAttachment[], context: CallContext): Promise<Map<string, string>>
}

export type AttachmentGates = Readonly<Record<PendingAttachment['source']['kind'], Gate>>

export interface UploaderDependencies {
  files: Pick<FileCalls, 'upload'>
  download: GuardedDownload
  /** Shared by all credentials of a worker. */
  cache: UploadCache<MediaKind>
  /** Bound how many files are held in memory at once, over all requests: a slow file host does not delay the bytes of other clients. */
  gates: AttachmentGates
  /** Names the credential: a file of one account is not visible to another. */
  credentialIdentity: string
  limits: AttachmentLimits
}

/** How long an uploaded file is remembered. The content of a URL may change; bytes cannot. */
const BYTES_KEPT_MS = 3_600_000
const URL_KEPT_MS = 300_000

export function createAttachmentUploader(dependencies: UploaderDependencies): AttachmentUploader {
  const { limits } = dependencies

  function uploadOne(attachment: PendingAttachment, context: CallContext): Promise<UploadedFile<MediaKind>> {
    const keptMs = attachment.source.kind === 'url' ? URL_KEPT_MS : BYTES_KEPT_MS
    const file = dependencies.cache.getOrProduce(cacheKey(attachment), keptMs, context.signal, async signal => {
      let release: (() => void) | undefined
      const admit = async (): Promise<void> => {
        release = await dependencies.gates[attachment.source.kind].enter(signal)
      }
      try {
        const { type, bytes } = await load(attachment, { signal, admit })
        const filename = attachment.filename ?? `${randomUUID()}.${mediaSubtype(type.mediaType)}`
        const upload = { bytes, filename, mediaType: type.mediaType }
        const fileId = await dependencies.files.upload(upload, { ...context, signal })
        return { fileId, bytes: bytes.byteLength, kind: type.kind }
      } finally {
        release?.()
      }
    })
    return file.catch((thrown: unknown) => {
      throw withOwnPath(thrown, attachment.path)
    })
  }

  /** The file's bytes. Calls `admit` before it has any; a host whose name server is silent takes no slot. */
  async function load(
    attachment: PendingAttachment,
    { signal, admit }: { signal: AbortSignal; admit: () => Promise<void> }
  ): Promise<{ type: AttachmentType; bytes: Buffer }> {
    const { source, filename, path } = attachment
    const classify = (mediaType: string, name?: string): AttachmentType => {
      const type = classifyAttachment(mediaType, [filename, name])
      if (type === undefined) throw unsupportedType(path)
      return type
    }
    if (source.kind === 'bytes') {
      const type = classify(source.mediaType)
      // The size of base64 is known before it is decoded.
      if (Buffer.byteLength(source.base64, 'base64') > limitOf(type.kind) + 2) throw tooLarge(attachment)
      await admit()
      const bytes = decodeBase64(source.base64, path)
      if (bytes.byteLength > limitOf(type.kind)) throw tooLarge(attachment)
      return { type, bytes }
    }
    const downloaded = await dependencies.download({
      url: source.url,
      param: path,
      signal,
      admit,
      limitFor: response => limitOf(classify(response.mediaType, response.urlPath).kind),
      tooLarge: () => tooLarge(attachment)
    })
    return { type: classify(downloaded.mediaType, downloaded.urlPath), bytes: downloaded.bytes }
  }

  function limitOf(kind: MediaKind): number {
    switch (kind) {
      case 'audio':
        return limits.audioBytesMax
      case 'image':
        return limits.imageBytesMax
      case 'text':
        return limits.textBytesMax
    }
  }

  function cacheKey({ source, filename }: PendingAttachment): string {
    const hash = createHash('sha256').update(dependencies.credentialIdentity).update('\0')
    if (source.kind === 'url') hash.update('url\0').update(source.url)
    else hash.update('bytes\0').update(source.mediaType).update('\0').update(source.base64)
    // The name decides the type of a file whose media type is unknown, and the upstream shows it.
    return hash
      .update('\0')
      .update(filename ?? '')
      .digest('hex')
  }

  return {
    async upload(attachments, context) {
      const fileIds = new Map<string, string>()
      // The first failure ends the request, so the other uploads are aborted.
      const others = new AbortController()
      const shared: CallContext = {
        ...context,
        signal: AbortSignal.any([context.signal, others.signal])
      }
      const totals = { audioAndImage: 0 }
      try {
        await Promise.all(
          attachments.map(async attachment => {
            const file = await uploadOne(attachment, shared)
            if (file.kind !== 'text') totals.audioAndImage += file.bytes
            if (totals.audioAndImage > limits.audioAndImageBytesMax) throw tooLarge(attachment)
            fileIds.set(attachment.placeholder, file.fileId)
          })
        )
      } catch (thrown) {
        others.abort(thrown)
        throw thrown
      }
      return fileIds
    }
  }
}

/** The error with the path of this request: requests with the same file share one upload, and its failure. */
function withOwnPath(thrown: unknown, path: string): unknown {
  return GatewayError.is(thrown) && thrown.param !== undefined ? thrown.with({ param: path }) : thrown
}

function unsupportedType(param: string): GatewayError {
  return new GatewayError('unsupported_media_type', {
    param,
    message: 'The media type of an attachment is not supported.'
  })
}

/** The check of the length misses this prefix, because decoding skips only a few of its characters. */
const DATA_URL = /^data:/i

function decodeBase64(base64: string, param: string): Buffer {
  const bytes = Buffer.from(base64, 'base64')
  // Decoding skips characters that are not base64: fewer bytes than announced mean that the text was invalid.
  const isShort = Math.abs(Buffer.byteLength(base64, 'base64') - bytes.byteLength) > 2
  if (bytes.byteLength === 0 || isShort || DATA_URL.test(base64)) {
    throw new GatewayError('attachment_download_failed', { param, message: 'An attachment is not valid base64.' })
  }
  return bytes
}

function tooLarge(attachment: PendingAttachment): GatewayError {
  return new GatewayError('request_entity_too_large', {
    param: attachment.path,
    message: 'An attachment is too large.'
  })
}
