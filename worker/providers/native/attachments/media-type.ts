// Which media type a file has on the upstream's wire: its own, else the one of its name's extension.

import { findMediaKind, type MediaKind } from '../../../protocols/native/media-types.ts'

export interface AttachmentType {
  kind: MediaKind
  /** The media type that goes to the upstream. */
  mediaType: string
}

/** Media types for files that have nothing usable but their extension (completions.md 4.4). */
const MEDIA_TYPE_BY_EXTENSION: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  txt: 'text/plain',
  doc: 'application/msword',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  pdf: 'application/pdf',
  epub: 'application/epub',
  ppt: 'application/ppt',
  pptx: 'application/pptx',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  bmp: 'image/bmp',
  mp4: 'audio/mp4',
  mp3: 'audio/mp3',
  m4a: 'audio/x-m4a',
  wav: 'audio/wav',
  weba: 'audio/webm',
  ogg: 'audio/x-ogg',
  opus: 'audio/opus'
})

/**
 * Classifies a file by its media type if that is known, else by the first of the names that has a known extension. Undefined when
 * the upstream takes no such file.
 */
export function classifyAttachment(
  mediaType: string,
  names: ReadonlyArray<string | undefined>
): AttachmentType | undefined {
  const kind = findMediaKind({ mediaType })
  if (kind !== undefined) return { kind, mediaType: (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase() }
  for (const filename of names) {
    const extension = filename?.slice(filename.lastIndexOf('.') + 1).toLowerCase() ?? ''
    const byExtension = MEDIA_TYPE_BY_EXTENSION[extension]
    const kindByExtension = findMediaKind({ mediaType: byExtension ?? '' })
    if (byExtension !== undefined && kindByExtension !== undefined) {
      return { kind: kindByExtension, mediaType: byExtension }
    }
  }
  return undefined
}

/** The part behind the slash, as the extension of a generated file name. */
export function mediaSubtype(mediaType: string): string {
  return mediaType.slice(mediaType.indexOf('/') + 1)
}
