// The sources that the upstream's search found: kept while the response streams, cited where the text refers to them, and listed
// at the end of the text (completions.md 6.3, responses.md 5.1).

import {
  ENTRY_CHARACTERS,
  type EventAssembler,
  type HostedSource,
  isJsonObject,
  type JsonObject,
  type UrlCitation
} from '../../normalized/index.ts'
import type { VisibleText } from './visible-text.ts'

export class SourceBook {
  readonly #assembler: EventAssembler
  readonly #sources = new Map<string, HostedSource>()
  readonly #referenced = new Set<string>()
  readonly #cited = new Set<string>()

  constructor(assembler: EventAssembler) {
    this.#assembler = assembler
  }

  /** Stores and returns the sources of an `inline_data` member; sources without a URL are skipped. */
  add(inlineData: JsonObject): HostedSource[] {
    const found: HostedSource[] = []
    for (const [id, value] of Object.entries(isObjectOrList(inlineData.sources) ? inlineData.sources : {})) {
      if (!isJsonObject(value) || typeof value.url !== 'string' || value.url === '') continue
      const title = typeof value.title === 'string' && value.title.trim() !== '' ? value.title : value.url
      const source = { id, url: value.url, title }
      this.#assembler.keep(id.length + value.url.length + title.length + ENTRY_CHARACTERS)
      this.#sources.set(id, source)
      found.push(source)
    }
    return found
  }

  /** Cites the sources of a marker that was found at the end of the open text. */
  cite(ids: readonly string[], visible: VisibleText): void {
    const assembler = this.#assembler
    for (const id of ids) {
      if (!this.#referenced.has(id)) assembler.keep(id.length + ENTRY_CHARACTERS)
      this.#referenced.add(id)
      const source = this.#sources.get(id)
      if (source === undefined || assembler.openBlock !== 'text') continue
      this.#cited.add(source.url)
      const { offset } = visible
      assembler.citation({
        type: 'url-citation',
        startIndex: offset,
        endIndex: offset,
        url: source.url,
        title: source.title
      })
    }
  }

  /** Appends the list to the text if there is any, with a citation for each source that no marker has cited. */
  writeList(visible: VisibleText): void {
    if (this.#sources.size === 0) return
    const listed = this.#selectListed()
    let list = visible.hasText ? '\n\nSources:' : 'Sources:'
    const base = visible.offset
    const citations: UrlCitation[] = []
    for (const { url, title } of listed) {
      const startIndex = base + list.length + 1
      list += `\n- [${escapeTitle(title)}](${url})`
      if (this.#cited.has(url)) continue
      citations.push({ type: 'url-citation', startIndex, endIndex: base + list.length, url, title })
    }
    visible.deliver(list)
    for (const citation of citations) this.#assembler.citation(citation)
  }

  /** The sources that the text refers to, in the order of reference; all sources when it refers to none. Each URL once. */
  #selectListed(): HostedSource[] {
    const referenced = [...this.#referenced].flatMap(id => this.#sources.get(id) ?? [])
    const candidates = referenced.length > 0 ? referenced : [...this.#sources.values()]
    const byUrl = new Map<string, HostedSource>()
    for (const source of candidates) if (!byUrl.has(source.url)) byUrl.set(source.url, source)
    return [...byUrl.values()]
  }
}

function isObjectOrList(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function escapeTitle(title: string): string {
  return title.replaceAll(/\s+/g, ' ').trim().replaceAll(/[[\]]/g, '\\$&')
}
