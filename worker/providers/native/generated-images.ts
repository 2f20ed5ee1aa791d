// Fetches the bytes of images that the upstream generated, for client protocols whose responses carry them.

import { asBuffer } from '../../../shared/bytes.ts'
import type { Logger } from '../../../shared/logging.ts'
import {
  beyondBound,
  findFileKind,
  type GeneratedFile,
  IMAGE_BYTES_MAX,
  type NormalizedEvent
} from '../../normalized/index.ts'
import { logIds } from '../http/failure-report.ts'
import type { EventCompleter } from '../http/hooks.ts'
import type { CallContext } from '../types.ts'
import type { FileCalls } from './files.ts'

/**
 * Images of one response that are fetched at the same time or wait for one before them; the memory of each is bounded by
 * `IMAGE_BYTES_MAX`.
 */
const DOWNLOADS_MAX = 4

/**
 * A completer that puts the bytes of images on their `file` events. An image that cannot be fetched stays without them, with a line
 * in the log: a missing image must not fail the response. Images whose bytes together exceed `IMAGE_BYTES_MAX` end the response with
 * `provider_protocol_error`.
 */
export function createImageCompleter(dependencies: { download: FileCalls['download']; log: Logger }): EventCompleter {
  /** The bytes so far of each response. */
  const fetchedBytes = new WeakMap<CallContext, number>()

  async function completeFile(file: GeneratedFile, context: CallContext): Promise<GeneratedFile> {
    const downloaded = await fetchImage(file, context)
    if (downloaded === undefined) return file
    const total = (fetchedBytes.get(context) ?? 0) + downloaded.bytes.length
    fetchedBytes.set(context, total)
    if (total > IMAGE_BYTES_MAX) throw beyondBound('bytes of generated images')
    const completed: GeneratedFile = { ...file, base64: writeBase64(downloaded.bytes) }
    if (completed.mediaType === undefined && downloaded.mediaType !== undefined) {
      completed.mediaType = downloaded.mediaType
    }
    return completed
  }

  async function fetchImage({ fileId }: GeneratedFile, context: CallContext) {
    try {
      return await dependencies.download(fileId, context, IMAGE_BYTES_MAX)
    } catch (thrown) {
      if (context.signal.aborted) throw thrown
      dependencies.log.warn(
        { event: 'generated_image_failed', ...logIds(context) },
        'A generated image could not be fetched'
      )
      return undefined
    }
  }

  return {
    isNeeded: (events, context) => context.wantsFileBytes === true && events.some(isIncomplete),
    // A group ends with each image, so that the client has it before the next one is there.
    async *complete(events, context) {
      const missing = events.filter(isIncomplete).values()
      const downloads: Promise<GeneratedFile>[] = []
      function startNext(): void {
        const next = missing.next().value
        if (next === undefined) return
        const download = completeFile(next.file, context)
        // A failure counts when its turn comes, and not at all after an earlier one.
        download.catch(() => undefined)
        downloads.push(download)
      }
      for (let count = 0; count < DOWNLOADS_MAX; count++) startNext()
      let group: NormalizedEvent[] = []
      for (const event of events) {
        if (!isIncomplete(event)) {
          group.push(event)
          continue
        }
        group.push({ ...event, file: (await downloads.shift()) ?? event.file })
        yield group
        group = []
        startNext()
      }
      if (group.length > 0) yield group
    }
  }
}

function writeBase64(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('base64')
}

/** Whether an event is about an image without its bytes. */
function isIncomplete(event: NormalizedEvent): event is Extract<NormalizedEvent, { type: 'file' }> {
  if (event.type !== 'file' || event.file.base64 !== undefined) return false
  return findFileKind(event.file) === 'image'
}
