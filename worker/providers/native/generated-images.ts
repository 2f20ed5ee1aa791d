// Fetches the bytes of images that the upstream generated, for client protocols whose responses carry them.

import type { Logger } from '../../../shared/logging.ts'
import { findFileKind, type GeneratedFile, type NormalizedEvent } from '../../normalized/index.ts'
import type { EventCompleter } from '../http/hooks.ts'
import type { CallContext } from '../types.ts'
import type { FileCalls } from './files.ts'

/**
 * A completer that puts the bytes of images on their `file` events. An image that cannot be fetched stays without them, with a line
 * in the log: a missing image must not fail the response.
 */
export function createImageCompleter(dependencies: { download: FileCalls['download']; log: Logger }): EventCompleter {
  async function completeFile(file: GeneratedFile, context: CallContext): Promise<GeneratedFile> {
    try {
      const downloaded = await dependencies.download(file.fileId, context)
      const completed: GeneratedFile = { ...file, base64: Buffer.from(downloaded.bytes).toString('base64') }
      if (completed.mediaType === undefined && downloaded.mediaType !== undefined) {
        completed.mediaType = downloaded.mediaType
      }
      return completed
    } catch (thrown) {
      if (context.signal.aborted) throw thrown
      dependencies.log.warn(
        { event: 'generated_image_failed', request_id: context.requestId },
        'A generated image could not be fetched'
      )
      return file
    }
  }

  async function completeEvent(event: NormalizedEvent, context: CallContext): Promise<NormalizedEvent> {
    return isIncomplete(event) ? { ...event, file: await completeFile(event.file, context) } : event
  }

  return {
    isNeeded: (events, context) => context.wantsFileBytes === true && events.some(isIncomplete),
    complete: (events, context) => Promise.all(events.map(event => completeEvent(event, context)))
  }
}

/** Whether an event is about an image without its bytes. */
function isIncomplete(event: NormalizedEvent): event is Extract<NormalizedEvent, { type: 'file' }> {
  if (event.type !== 'file' || event.file.base64 !== undefined) return false
  return findFileKind(event.file) === 'image'
}
