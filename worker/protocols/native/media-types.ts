// The files that the upstream accepts: by media type, or by the file name's extension when the type is unknown
// (completions.md 4.4).

export type MediaKind = 'image' | 'audio' | 'text'

const MEDIA_TYPES: Record<MediaKind, readonly string[]> = {
  image: ['image/jpeg', 'image/jpg', 'image/png', 'image/tiff', 'image/bmp'],
  audio: [
    'audio/mp4',
    'audio/mp3',
    'audio/x-m4a',
    'audio/x-wav',
    'audio/wave',
    'audio/wav',
    'audio/x-pn-wav',
    'audio/webm',
    'audio/x-ogg',
    'audio/opus'
  ],
  text: [
    'text/plain',
    'application/msword',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    'application/pdf',
    'application/epub',
    'application/ppt',
    'application/pptx'
  ]
}

const EXTENSIONS: Record<MediaKind, readonly string[]> = {
  image: ['jpg', 'jpeg', 'png', 'tif', 'tiff', 'bmp'],
  audio: ['mp4', 'mp3', 'm4a', 'wav', 'weba', 'ogg', 'opus'],
  text: ['txt', 'doc', 'docx', 'pdf', 'epub', 'ppt', 'pptx']
}

const KINDS: readonly MediaKind[] = ['image', 'audio', 'text']
const kindByMediaType = new Map(KINDS.flatMap(kind => MEDIA_TYPES[kind].map(type => [type, kind] as const)))
const kindByExtension = new Map(KINDS.flatMap(kind => EXTENSIONS[kind].map(extension => [extension, kind] as const)))

/** The kind of a file; undefined when the upstream does not accept it. */
export function findMediaKind(file: { mediaType: string; filename?: string | undefined }): MediaKind | undefined {
  const mediaType = (file.mediaType.split(';', 1)[0] ?? '').trim().toLowerCase()
  const byType = kindByMediaType.get(mediaType)
  if (byType !== undefined || file.filename === undefined) return byType
  const dot = file.filename.lastIndexOf('.')
  return dot < 0 ? undefined : kindByExtension.get(file.filename.slice(dot + 1).toLowerCase())
}
