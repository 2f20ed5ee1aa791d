// Collects the web pages that a provider cites: as annotations of the text, or as lists beside the choices (decisions.md 81). A stream
// repeats them, and may send them before the text that they belong to.

import { type EventAssembler, isJsonObject, type UrlCitation } from '../../../normalized/index.ts'
import type { Payload } from '../../shared/external-payload.ts'

/** Members beside the choices, and members of a message or a delta, that list pages. The first that names a page decides its title. */
const LISTS = ['search_results', 'web_search', 'citations'] as const

/** A page is cited once for each place; a text has few of them. */
const CITATIONS_MAX = 1000

interface Cited {
  url: string
  title: string
  /** Absent where the provider names no place: then the page stands behind the text. */
  place?: { start: number; end: number }
}

export class Citations {
  readonly #assembler: EventAssembler
  readonly #seen = new Set<string>()
  #waiting: Cited[] = []

  constructor(assembler: EventAssembler) {
    this.#assembler = assembler
  }

  /** Reads the annotations and the lists of a payload, a message or a delta. */
  add(holder: Payload): void {
    if (Array.isArray(holder.annotations)) for (const entry of holder.annotations) this.#add(readAnnotation(entry))
    for (const name of LISTS) {
      const list = holder[name]
      if (Array.isArray(list)) for (const entry of list) this.#add(readPage(entry))
    }
  }

  /** Passes on what waits at the end of a text: the lists may come before the annotations, and nothing can be cited behind its text. */
  endText(): void {
    const assembler = this.#assembler
    if (this.#waiting.length === 0 || assembler.openBlock !== 'text') return
    const waiting = this.#waiting
    this.#waiting = []
    const placed = new Set(waiting.flatMap(({ url, place: where }) => (where === undefined ? [] : [url])))
    for (const cited of waiting) {
      // A page of a list that is annotated too has its place already.
      if (cited.place === undefined && placed.has(cited.url)) continue
      assembler.citation(writeCitation(cited, assembler.textLength))
    }
  }

  #add(cited: Cited | undefined): void {
    if (cited === undefined || this.#seen.size >= CITATIONS_MAX) return
    const { url, place: where } = cited
    const key = where === undefined ? url : `${where.start} ${where.end} ${url}`
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    this.#assembler.keep(url.length + cited.title.length)
    this.#waiting.push(cited)
  }
}

/** True for a payload, a message or a delta that may cite pages. */
export function mayCite(holder: Payload): boolean {
  return Array.isArray(holder.annotations) || LISTS.some(name => Array.isArray(holder[name]))
}

/** `{type: 'url_citation', url_citation: {…}}`, and the same without the inner object. */
function readAnnotation(entry: unknown): Cited | undefined {
  if (!isJsonObject(entry) || entry.type !== 'url_citation') return undefined
  const inner = isJsonObject(entry.url_citation) ? entry.url_citation : entry
  const page = readPage(inner)
  const start = readIndex(inner.start_index)
  const end = readIndex(inner.end_index)
  return page === undefined || start === undefined || end === undefined ? page : { ...page, place: { start, end } }
}

/** A url, or an object with one and a title. */
function readPage(entry: unknown): Cited | undefined {
  if (typeof entry === 'string') return isPage(entry) ? { url: entry, title: entry } : undefined
  if (!isJsonObject(entry)) return undefined
  const url = entry.url ?? entry.link
  if (typeof url !== 'string' || !isPage(url)) return undefined
  return { url, title: typeof entry.title === 'string' && entry.title !== '' ? entry.title : url }
}

/** Clients show it as a link. */
function isPage(url: string): boolean {
  return /^https?:\/\//i.test(url)
}

function readIndex(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
}

/** @param characters the length of the text, beyond which nothing is cited. */
function writeCitation({ url, title, place: where }: Cited, characters: number): UrlCitation {
  const startIndex = Math.min(where?.start ?? characters, characters)
  const endIndex = Math.max(startIndex, Math.min(where?.end ?? characters, characters))
  return { type: 'url-citation', startIndex, endIndex, url, title }
}
