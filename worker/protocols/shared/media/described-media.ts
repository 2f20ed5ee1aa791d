// What a provider's writer makes of an image or a file: the wire's own part where wire and model take it, else a text that says what
// stood there. Only in the newest turn of the user it must be read, and is refused (decisions.md 69 and 75).

import { type FilePart, type ImagePart, pathOfMedia, unsupportedSemantic } from '../../../normalized/index.ts'
import { type AddressRules, isAllowedAddress } from './media-address.ts'
import { foldMediaType } from './media-source.ts'

export type MediaPart = ImagePart | FilePart

/** Why a model does not get an image or a file: it reads none of the kind, or this one has a type, an address or a size that is not taken. */
export type UnreadReason = 'images' | 'files' | 'format' | 'address' | 'size'

/** One of the wire's own parts, a text that says the same, or neither. */
export type WrittenMedia<Block> =
  | { type: 'block'; block: Block }
  | { type: 'text'; text: string }
  | { type: 'unread'; reason: UnreadReason }

/** The features with which an alias declares that its model reads media. */
const IMAGES = 'image_references'
const FILES = 'file_inputs'

/** Whether the model of an alias reads images; one that declares nothing reads all. */
export function readsImages(features: readonly string[] | undefined): boolean {
  return features === undefined || features.includes(IMAGES)
}

/** Whether it reads files. */
export function readsFiles(features: readonly string[] | undefined): boolean {
  return features === undefined || features.includes(FILES)
}

/** What stands for a part in the written body: a block of the wire, or a text. */
export type PlacedMedia<Block> = Exclude<WrittenMedia<Block>, { type: 'unread' }>

/** Places the media of one request, and notes what it replaced by a description. */
export class MediaPlacer<Block> {
  /** Paths of the client's fields whose media the model does not get. */
  readonly leftOut: string[] = []
  readonly #rules: AddressRules
  readonly #write: (part: MediaPart) => WrittenMedia<Block>

  /** @param write what the wire makes of a part whose address may go to the provider. */
  constructor(rules: AddressRules, write: (part: MediaPart) => WrittenMedia<Block>) {
    this.#rules = rules
    this.#write = write
  }

  /**
   * @param isNewest the part stands in the newest turn of the user itself: then `unsupported_semantic` is raised with its path where it
   * cannot be sent.
   */
  place(part: MediaPart, isNewest: boolean): PlacedMedia<Block> {
    const written: WrittenMedia<Block> = hasRefusedAddress(part, this.#rules)
      ? { type: 'unread', reason: 'address' }
      : this.#write(part)
    if (written.type !== 'unread') return written
    if (isNewest) throw refuseMedia(part, written.reason)
    this.leftOut.push(pathOfMedia(part))
    return { type: 'text', text: describeMedia(part, written.reason) }
  }
}

/** True for the address of a part that must not go to the provider. */
export function hasRefusedAddress({ source }: MediaPart, rules: AddressRules): boolean {
  return source.kind === 'url' && !isAllowedAddress(source.url, rules)
}

/** The error for media that the model has to read now and that do not reach it. */
export function refuseMedia(part: MediaPart, reason: UnreadReason) {
  const reasonId = {
    images: `feature_not_declared:${IMAGES}`,
    files: `feature_not_declared:${FILES}`,
    format: 'media_not_expressed',
    address: 'media_address_refused',
    size: 'media_too_large'
  }
  return unsupportedSemantic(pathOfMedia(part), reasonId[reason])
}

const explanations: Readonly<Record<UnreadReason, string>> = {
  images: 'this model reads no images',
  files: 'this model reads no files',
  format: 'this model cannot read it',
  address: 'this address cannot be read',
  size: 'it is too large for this model'
}

/** A text such as `[image/png, 48 KB: this model reads no images]`. */
export function describeMedia(part: MediaPart, reason: UnreadReason): string {
  const { source, type } = part
  const facts: string[] = []
  if (source.kind === 'bytes') {
    facts.push(source.mediaType === '' ? type : source.mediaType)
    if (part.type === 'file') addName(facts, part.filename)
    facts.push(writeSize(countDecodedBytes(source.base64)))
  } else {
    facts.push(source.kind === 'url' && source.mediaType !== undefined ? source.mediaType : type)
    if (part.type === 'file') addName(facts, part.filename)
    facts.push(source.kind === 'url' ? shorten(source.url) : source.fileId)
  }
  return `[${facts.join(', ')}: ${explanations[reason]}]`
}

/** A longer name or address says no more to a model. */
const SHOWN_CHARACTERS_MAX = 512

function shorten(text: string): string {
  return text.length <= SHOWN_CHARACTERS_MAX ? text : `${text.slice(0, SHOWN_CHARACTERS_MAX)}…`
}

function addName(facts: string[], name: string | undefined): void {
  if (name !== undefined && name !== '') facts.push(shorten(name))
}

const KIB = 1024

function writeSize(bytes: number): string {
  if (bytes < KIB) return `${bytes} bytes`
  return bytes < KIB * KIB ? `${Math.round(bytes / KIB)} KB` : `${Math.round(bytes / KIB / KIB)} MB`
}

/** The ending of a file's name, in lower case without the dot; '' without one. */
function readEnding(name: string): string {
  return /\.([a-z0-9]{1,8})$/i.exec(name)?.[1]?.toLowerCase() ?? ''
}

const typeOfEnding: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  txt: 'text/plain',
  xml: 'text/xml'
}

/** The media type of bytes, by the file's name where the client gave none; '' for an unknown one, and for an address without a type. */
export function findMediaType(part: MediaPart): string {
  const { source } = part
  const given = source.kind === 'file-id' ? '' : (source.mediaType ?? '')
  if (given !== '') return foldMediaType(given.split(';', 1)[0] ?? '').trim()
  return part.type === 'file' ? (typeOfEnding[readEnding(part.filename ?? '')] ?? '') : ''
}

/** An image also where the client sent it as a file. */
export function isImage(part: MediaPart): boolean {
  return part.type === 'image' || findMediaType(part).startsWith('image/')
}

export const PDF = 'application/pdf'

const TEXT_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/xml', 'application/yaml'])

/** The text of a file that is one, which every model reads; undefined for any other file. */
export function readTextFile(part: MediaPart): string | undefined {
  const { source } = part
  const mediaType = findMediaType(part)
  if (source.kind !== 'bytes' || !(mediaType.startsWith('text/') || TEXT_TYPES.has(mediaType))) return undefined
  return Buffer.from(source.base64, 'base64').toString('utf8')
}

/** The number of bytes that base64 text encodes, computed without decoding it. */
export function countDecodedBytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor((base64.length * 3) / 4) - padding
}
