// Fetches the bytes of images that the upstream made, for the protocols that carry them in the answer.

import type { Logger } from '../../../shared/logging.ts'
import type { GeneratedFile, NormalizedEvent } from '../../normalized/index.ts'
import type { TranslatedChat } from '../../translation/types.ts'
import type { CallContext, DownloadedFile } from '../types.ts'

export interface ImageFetcher {
  /** Whether any of these events waits for its bytes. */
  isNeeded(events: readonly NormalizedEvent[]): boolean
  /**
   * The same events with the bytes of images on them. An image that cannot be fetched stays as it is, with a line in the log: the
   * answer is worth more than its picture. Rejects only when the request is aborted.
   */
  complete(events: readonly NormalizedEvent[]): Promise<NormalizedEvent[]>
}

/** A fetcher for one answer, or undefined when its protocol does not carry images. */
export function createImageFetcher(
  call: TranslatedChat,
  context: CallContext,
  dependencies: { download: (fileId: string, context: CallContext) => Promise<DownloadedFile>; log: Logger }
): ImageFetcher | undefined {
  if (!(context.fetchesGeneratedImages ?? call.request.carriesFileBytes)) return undefined

  async function completeFile(file: GeneratedFile): Promise<GeneratedFile> {
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

  return {
    isNeeded: events => events.some(event => event.type === 'file' && isUnfetchedImage(event.file)),
    complete: events =>
      Promise.all(
        events.map(async event =>
          event.type === 'file' && isUnfetchedImage(event.file)
            ? { ...event, file: await completeFile(event.file) }
            : event
        )
      )
  }
}

function isUnfetchedImage(file: GeneratedFile): boolean {
  return file.base64 === undefined && (file.target === 'image' || file.mediaType?.startsWith('image/') === true)
}
