// The state of the search server of tests, and its answers: templates, policies, data streams, indexes and documents.
import type { IncomingMessage } from 'node:http'
import { checkFields, checkMapping, checkMembers, checkPolicy, type Json, RefusedCall, readJson } from './checks.ts'

export interface StoredDocument {
  readonly index: string
  readonly id: string
  readonly source: Json
}

interface KeptDocument {
  source: Json
  sequence: number
  isSearchable: boolean
  /** What searches find until the next refresh. */
  searchedSource: Json
}

/** An outcome of a bulk item that the test chooses; undefined lets the server do its work. */
export type ItemFailure = { readonly status: number; readonly type: string } | undefined

export interface SearchServerFakeOptions {
  readonly username?: string
  readonly password?: string
  /** Without the plugin for policies. */
  readonly hasNoPolicies?: boolean
  /** Longest body in bytes, uncompressed. */
  readonly bodyBytesMax?: number
}

export interface Question {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

const PARAMETERS = new Set(['allow_partial_search_results', 'if_primary_term', 'if_seq_no', 'refresh'])
const PRIMARY_TERM = 1
const ID_BYTES_MAX = 512

export class SearchStore {
  readonly templates = new Map<string, Json>()
  readonly policies = new Map<string, { policy: Json; sequence: number }>()
  /** The indexes of each stream, the last one is written. */
  readonly dataStreams = new Map<string, string[]>()
  /** What a client of this API must not send. */
  readonly violations: string[] = []
  /** Bulk bodies in the order they came. */
  readonly bulkBodies: string[] = []
  /** Asked for each bulk item. */
  failItem: (id: string, source: Json) => ItemFailure = () => undefined
  /** Called before a document is replaced. */
  beforeReplace: (id: string) => void = () => undefined
  readonly #indexes = new Map<string, Map<string, KeptDocument>>()
  readonly #mappings = new Map<string, Json>()
  readonly #options: SearchServerFakeOptions
  #sequence = 0

  constructor(options: SearchServerFakeOptions) {
    this.#options = options
  }

  documents(): StoredDocument[] {
    return [...this.#indexes].flatMap(([index, documents]) =>
      [...documents].map(([id, { source }]) => ({ index, id, source }))
    )
  }

  /** Changes a document like another client, so that its sequence number grows. */
  touch(id: string): void {
    for (const documents of this.#indexes.values()) {
      const document = documents.get(id)
      if (document !== undefined) document.sequence = this.#nextSequence()
    }
  }

  /** Lets the data stream write into a new index. */
  rollOver(dataStream: string): void {
    const indexes = this.dataStreams.get(dataStream)
    if (indexes === undefined) throw new Error(`There is no data stream ${dataStream}.`)
    indexes.push(this.#createBackingIndex(dataStream, indexes.length + 1))
  }

  putTemplate(name: string, template: Json): void {
    this.templates.set(name, template)
  }

  createIndex(name: string): void {
    this.#indexes.set(name, new Map())
    this.#mappings.set(name, this.#findTemplate(name)?.mappings ?? {})
  }

  createDataStream(name: string): void {
    this.dataStreams.set(name, [this.#createBackingIndex(name, 1)])
  }

  /** Forgets everything, like a new server. */
  reset(): void {
    for (const map of [this.templates, this.policies, this.dataStreams, this.#indexes, this.#mappings]) map.clear()
  }

  /** Answers a call; errors have the form of the server. */
  answer(question: Question): Answer {
    try {
      this.#authorize(question)
      return this.#route(question)
    } catch (error) {
      if (!(error instanceof RefusedCall)) throw error
      const { status, type, message: reason } = error
      return { status, body: { error: { type, reason, root_cause: [{ type, reason }] }, status } }
    }
  }

  #authorize({ headers }: Question): void {
    const { username, password } = this.#options
    const wanted =
      username === undefined && password === undefined
        ? undefined
        : `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}`
    if (headers.authorization !== wanted) throw new RefusedCall(401, 'security_exception', 'unauthorized')
  }

  #route(question: Question): Answer {
    const { method, url, body, headers } = question
    const segments = url.pathname.split('/').slice(1).map(decodeURIComponent)
    if (body !== '' && body.length > (this.#options.bodyBytesMax ?? 100 * 1024 * 1024)) {
      throw new RefusedCall(413, 'too_large', 'request entity too large')
    }
    const [first = '', second = '', third = '', fourth = ''] = segments
    for (const name of url.searchParams.keys()) {
      if (!PARAMETERS.has(name)) {
        this.#violate(`the parameter ${name}`)
        throw new RefusedCall(400, 'illegal_argument_exception', `request contains unrecognized parameter: [${name}]`)
      }
    }
    if (method === 'POST' && first === '_bulk' && segments.length === 1) {
      if (headers['content-type'] !== 'application/x-ndjson') this.#violate(`a bulk call of ${headers['content-type']}`)
      return this.#bulk(body)
    }
    if (body !== '' && headers['content-type'] !== 'application/json')
      this.#violate(`a body of ${headers['content-type']}`)
    if (first === '_index_template' && segments.length === 2) return this.#template(method, second, body)
    if (first === '_data_stream' && segments.length === 2) return this.#dataStream(method, second)
    if (first === '_plugins' && second === '_ism' && third === 'policies' && this.#options.hasNoPolicies !== true) {
      return this.#policy(method, fourth, question)
    }
    if (method === 'POST' && second === '_refresh') return this.#refresh(first)
    if (method === 'POST' && second === '_search') return this.#search(first, readJson(body))
    if (method === 'PUT' && second === '_doc') return this.#replace(first, third, question)
    if (first !== '_plugins') this.#violate(`${method} ${url.pathname}`)
    return { status: 400, body: { error: `no handler found for uri [${url.pathname}] and method [${method}]` } }
  }

  #template(method: string, name: string, body: string): Answer {
    if (method === 'GET') {
      const found = this.templates.get(name)
      if (found === undefined) throw new RefusedCall(404, 'resource_not_found_exception', `index template [${name}]`)
      return { status: 200, body: { index_templates: [{ name, index_template: found }] } }
    }
    const template = readJson(body)
    if (!Array.isArray(template.index_patterns))
      throw new RefusedCall(400, 'x_content_parse_exception', 'index_patterns')
    checkMembers(template, ['index_patterns', 'template', 'priority', 'version', '_meta', 'data_stream', 'composed_of'])
    const content = (template.template ?? {}) as Json
    checkMembers(content, ['settings', 'mappings', 'aliases'])
    checkMapping((content.mappings ?? {}) as Json)
    this.#checkPatterns(name, template)
    this.templates.set(name, template)
    return { status: 200, body: { acknowledged: true } }
  }

  #checkPatterns(name: string, { index_patterns: patterns, priority = 0 }: Json): void {
    for (const [other, template] of this.templates) {
      if (other === name || (template.priority ?? 0) !== priority) continue
      const theirs = template.index_patterns as string[]
      if (!(patterns as string[]).some(pattern => theirs.some(one => overlap(pattern, one)))) continue
      const text = `index template [${name}] has index patterns [${patterns}] matching patterns from existing templates [${other}]`
      throw new RefusedCall(400, 'illegal_argument_exception', text)
    }
  }

  #dataStream(method: string, name: string): Answer {
    const indexes = this.dataStreams.get(name)
    if (method === 'GET') {
      if (indexes === undefined && this.#indexes.has(name)) return { status: 200, body: { data_streams: [] } }
      if (indexes === undefined) throw new RefusedCall(404, 'index_not_found_exception', `no such index [${name}]`)
      return { status: 200, body: { data_streams: [{ name, indices: indexes.map(index => ({ index_name: index })) }] } }
    }
    if (indexes !== undefined) throw new RefusedCall(400, 'resource_already_exists_exception', `data_stream [${name}]`)
    if (this.#indexes.has(name)) throw new RefusedCall(400, 'illegal_argument_exception', `index [${name}] exists`)
    if (this.#findTemplate(name)?.isDataStream !== true) {
      throw new RefusedCall(400, 'illegal_argument_exception', `no matching index template found for [${name}]`)
    }
    this.createDataStream(name)
    return { status: 200, body: { acknowledged: true } }
  }

  #policy(method: string, name: string, { url, body }: Question): Answer {
    const found = this.policies.get(name)
    if (method === 'GET') {
      if (found === undefined) throw new RefusedCall(404, 'status_exception', 'Policy not found')
      const { policy, sequence } = found
      return { status: 200, body: { _id: name, _seq_no: sequence, _primary_term: PRIMARY_TERM, policy } }
    }
    const policy = readJson(body).policy as Json
    checkPolicy(policy)
    if (found !== undefined && url.searchParams.get('if_seq_no') !== String(found.sequence)) {
      throw new RefusedCall(409, 'version_conflict_engine_exception', 'document already exists')
    }
    this.policies.set(name, { policy, sequence: this.#nextSequence() })
    return { status: found === undefined ? 201 : 200, body: { _id: name } }
  }

  #bulk(body: string): Answer {
    this.bulkBodies.push(body)
    if (!body.endsWith('\n')) {
      throw new RefusedCall(400, 'illegal_argument_exception', 'The bulk request must be terminated by a newline [\\n]')
    }
    const lines = body.slice(0, -1).split('\n')
    if (lines.length % 2 !== 0) throw new RefusedCall(400, 'illegal_argument_exception', 'odd number of lines')
    const items: Json[] = []
    for (let line = 0; line < lines.length; line += 2) {
      items.push(this.#bulkItem(readJson(lines[line] ?? ''), lines[line + 1] ?? ''))
    }
    return {
      status: 200,
      body: { took: 1, errors: items.some(item => 'error' in (Object.values(item)[0] as Json)), items }
    }
  }

  #bulkItem(action: Json, text: string): Json {
    const [name = '', ...others] = Object.keys(action)
    if (others.length > 0 || (name !== 'create' && name !== 'index')) {
      throw new RefusedCall(400, 'illegal_argument_exception', `Malformed action/metadata line [${name}]`)
    }
    const { _index: index, _id: id, ...more } = action[name] as Json
    if (typeof index !== 'string' || typeof id !== 'string' || Object.keys(more).length > 0) {
      this.#violate(`an action without index or id: ${JSON.stringify(action)}`)
      throw new RefusedCall(400, 'action_request_validation_exception', 'index is missing')
    }
    try {
      const source = readJson(text)
      const failure = this.failItem(id, source)
      if (failure !== undefined) throw new RefusedCall(failure.status, failure.type, 'as the test wants')
      const status = this.#store(name, { index, id, source })
      return { [name]: { _index: index, _id: id, status, result: status === 201 ? 'created' : 'updated' } }
    } catch (error) {
      if (!(error instanceof RefusedCall)) throw error
      const { status, type, message: reason } = error
      return { [name]: { _index: index, _id: id, status, error: { type, reason } } }
    }
  }

  #store(action: 'create' | 'index', { index, id, source }: StoredDocument): number {
    if (Buffer.byteLength(id) > ID_BYTES_MAX) throw new RefusedCall(400, 'illegal_argument_exception', 'id is too long')
    const target = this.#writableIndex(index, action)
    const documents = this.#indexes.get(target) as Map<string, KeptDocument>
    const isStream = this.dataStreams.has(index)
    if (isStream && typeof source['@timestamp'] !== 'string') {
      throw new RefusedCall(400, 'mapper_parsing_exception', 'data stream timestamp field [@timestamp] is missing')
    }
    checkFields(source, this.#mappings.get(target) ?? {})
    const earlier = documents.get(id)
    if (earlier !== undefined && action === 'create') {
      throw new RefusedCall(
        409,
        'version_conflict_engine_exception',
        `[${id}]: version conflict, document already exists`
      )
    }
    const searchedSource = earlier?.searchedSource ?? source
    const isSearchable = earlier?.isSearchable ?? false
    documents.set(id, { source, searchedSource, isSearchable, sequence: this.#nextSequence() })
    return earlier === undefined ? 201 : 200
  }

  #writableIndex(name: string, action: 'create' | 'index'): string {
    const template = this.#findTemplate(name)
    if (template === undefined && !this.dataStreams.has(name) && !this.#indexes.has(name)) {
      this.#violate(`a write to ${name} before its template exists`)
      throw new RefusedCall(404, 'index_not_found_exception', `no such index [${name}]`)
    }
    if (!this.dataStreams.has(name) && !this.#indexes.has(name)) {
      if (template?.isDataStream) this.createDataStream(name)
      else this.createIndex(name)
    }
    const stream = this.dataStreams.get(name)
    if (stream === undefined) return name
    if (action !== 'create') {
      this.#violate(`an ${action} action for the data stream ${name}`)
      throw new RefusedCall(400, 'illegal_argument_exception', 'only write ops with an op_type of create are allowed')
    }
    return stream.at(-1) as string
  }

  #refresh(name: string): Answer {
    for (const index of this.#indexesOf(name)) {
      for (const document of this.#indexes.get(index)?.values() ?? []) {
        document.isSearchable = true
        document.searchedSource = document.source
      }
    }
    return { status: 200, body: { _shards: { total: 1, successful: 1, failed: 0 } } }
  }

  #search(name: string, body: Json): Answer {
    const { query, seq_no_primary_term: withSequence, size = 10, _source: wantsSource = true } = body
    const ids = ((query as Json | undefined)?.ids as Json | undefined)?.values
    if (!Array.isArray(ids)) throw new RefusedCall(400, 'parsing_exception', 'only a query of ids is known here')
    const hits = this.#indexesOf(name).flatMap(index =>
      [...(this.#indexes.get(index) ?? [])]
        .filter(([id, { isSearchable }]) => isSearchable && ids.includes(id))
        .map(([id, { searchedSource, sequence }]) => ({
          _index: index,
          _id: id,
          _score: 1,
          ...(wantsSource === false ? {} : { _source: searchedSource }),
          ...(withSequence === true && { _seq_no: sequence, _primary_term: PRIMARY_TERM })
        }))
    )
    const page = hits.slice(0, size as number)
    return {
      status: 200,
      body: { timed_out: false, hits: { total: { value: hits.length, relation: 'eq' }, hits: page } }
    }
  }

  #replace(index: string, id: string, { url, body }: Question): Answer {
    if (this.dataStreams.has(index)) {
      this.#violate('a document of a data stream was replaced by id')
      throw new RefusedCall(400, 'illegal_argument_exception', 'only write ops with an op_type of create are allowed')
    }
    const documents = this.#indexes.get(index)
    if (documents === undefined) throw new RefusedCall(404, 'index_not_found_exception', `no such index [${index}]`)
    const isBacking = [...this.dataStreams.values()].some(indexes => indexes.includes(index))
    const sequence = url.searchParams.get('if_seq_no')
    if (isBacking && (sequence === null || !url.searchParams.has('if_primary_term'))) {
      this.#violate('a document of a backing index was replaced without a condition')
      throw new RefusedCall(400, 'illegal_argument_exception', 'index request targeting backing indices is disallowed')
    }
    this.beforeReplace(id)
    const earlier = documents.get(id)
    if (sequence !== null && String(earlier?.sequence) !== sequence) {
      throw new RefusedCall(409, 'version_conflict_engine_exception', `[${id}]: version conflict`)
    }
    const source = readJson(body)
    checkFields(source, this.#mappings.get(index) ?? {})
    const isNow = url.searchParams.get('refresh') === 'true'
    const searchedSource = isNow ? source : (earlier?.searchedSource ?? source)
    const isSearchable = isNow || (earlier?.isSearchable ?? false)
    documents.set(id, { source, searchedSource, isSearchable, sequence: this.#nextSequence() })
    return { status: earlier === undefined ? 201 : 200, body: { _index: index, _id: id } }
  }

  #indexesOf(name: string): readonly string[] {
    const indexes = this.dataStreams.get(name) ?? (this.#indexes.has(name) ? [name] : undefined)
    if (indexes === undefined) throw new RefusedCall(404, 'index_not_found_exception', `no such index [${name}]`)
    return indexes
  }

  #createBackingIndex(dataStream: string, generation: number): string {
    const name = `.ds-${dataStream}-${String(generation).padStart(6, '0')}`
    this.#indexes.set(name, new Map())
    this.#mappings.set(name, this.#findTemplate(dataStream)?.mappings ?? {})
    return name
  }

  #findTemplate(index: string): { isDataStream: boolean; mappings: Json } | undefined {
    for (const template of this.templates.values()) {
      const patterns = template.index_patterns as string[]
      if (!patterns.some(pattern => overlap(pattern, index))) continue
      const mappings = ((template.template as Json | undefined)?.mappings as Json | undefined) ?? {}
      return { isDataStream: template.data_stream !== undefined, mappings }
    }
    return undefined
  }

  #nextSequence(): number {
    this.#sequence += 1
    return this.#sequence
  }

  #violate(what: string): void {
    this.violations.push(what)
  }
}

/** Whether some name fits both patterns, whose only wildcard may be a star at the end. */
function overlap(one: string, other: string): boolean {
  const isOpen = [one, other].map(pattern => pattern.endsWith('*'))
  const [first = '', second = ''] = [one, other].map(pattern => pattern.replace(/\*$/, ''))
  return (
    first === second ||
    (isOpen[0] === true && second.startsWith(first)) ||
    (isOpen[1] === true && first.startsWith(second))
  )
}
