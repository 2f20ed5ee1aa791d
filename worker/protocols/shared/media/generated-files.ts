// Names generated files that a client protocol has no place for: 3D models, audio and others, in
// lines at the end of the text (decisions.md 65). A protocol with a place for them writes the line
// too where its SDKs show only the text.

import { findFileKind, type GeneratedFile, type NormalizedRequest } from '../../../normalized/index.ts'

const LABELS = { model: '3D model', audio: 'Audio', other: 'File' } as const

/** True for a file that is no image. */
export function isShownAsLine(file: GeneratedFile): boolean {
  return findFileKind(file) !== 'image'
}

/**
 * Writes one line per file, with its link or its id; '' without files, and for a client that requested JSON of a schema, whose text
 * nothing may be added to.
 * @param followsText true when the lines continue a text.
 */
export function writeFileLines(
  files: readonly GeneratedFile[],
  request: NormalizedRequest,
  followsText: boolean
): string {
  if (files.length === 0 || request.output?.type === 'json-schema') return ''
  const lines = files.map(writeLine).join('\n')
  return followsText ? `\n\n${lines}` : lines
}

function writeLine(file: GeneratedFile): string {
  const kind = findFileKind(file)
  const label = LABELS[kind === 'image' ? 'other' : kind]
  return file.url === undefined ? `${label}: ${file.fileId}` : `[${label}](${file.url})`
}
