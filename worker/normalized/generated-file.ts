// What a generated file is, by the words that a provider gives with it.

import type { GeneratedFile } from './content.ts'

export type GeneratedFileKind = 'image' | 'model' | 'audio' | 'other'

/** The provider's word decides, then the media type. */
export function findFileKind({ target, mediaType }: GeneratedFile): GeneratedFileKind {
  if (target === 'image' || mediaType?.startsWith('image/') === true) return 'image'
  if (target === 'model' || target === '3dmodel' || mediaType?.startsWith('model/') === true) return 'model'
  return target === 'audio' || mediaType?.startsWith('audio/') === true ? 'audio' : 'other'
}
