// Tracks the tools that the upstream runs itself: reports their progress and their end. A search ends when its sources have
// arrived (upstream.md 4.4, responses.md 7.5).

import {
  type EventAssembler,
  type HostedSource,
  type HostedToolKind,
  type HostedToolStatus,
  isJsonObject,
  type JsonObject
} from '../../normalized/index.ts'
import type { CallSummary } from './tool-calls.ts'

interface HostedRun {
  index: number
  kind: HostedToolKind | 'other'
  name: string
  status: HostedToolStatus
  /** The last report, so that repetitions of it are ignored. */
  lastReport: string
  isEnded: boolean
  /** The call in the response that this run answers, and its result. */
  answered?: { call: CallSummary; result: unknown }
}

const STATUS_WORDS: ReadonlyMap<string, HostedToolStatus> = new Map([
  ['success', 'completed'],
  ['completed', 'completed'],
  ['complete', 'completed'],
  ['done', 'completed'],
  ['fail', 'failed'],
  ['failed', 'failed'],
  ['failure', 'failed'],
  ['error', 'failed'],
  ['generating', 'generating'],
  ['searching', 'searching'],
  ['interpreting', 'interpreting']
])

/** More queries than a response has searches are not kept. */
const QUERIES_MAX = 64

export class HostedRuns {
  readonly #assembler: EventAssembler
  readonly #runs: HostedRun[] = []
  /** The latest run of each name. */
  readonly #latest = new Map<string, HostedRun>()
  /** The searches that may be open, in order; the last one that is open gets the next sources. */
  readonly #searches: HostedRun[] = []
  #hasSearched = false
  readonly #queries: string[] = []
  #queriesUsed = 0

  constructor(assembler: EventAssembler) {
    this.#assembler = assembler
  }

  get hasRuns(): boolean {
    return this.#runs.length > 0
  }

  /** Every run with its status, in order. */
  get runs(): ReadonlyArray<Pick<HostedRun, 'name' | 'status' | 'answered'>> {
    return this.#runs
  }

  /** Reads a `tool_execution` member. */
  report(execution: unknown): void {
    if (!isJsonObject(execution) || typeof execution.name !== 'string' || execution.name === '') return
    if (this.#assembler.isTerminated) return
    const status = readStatus(execution.status)
    const run = this.#findOrStart(execution.name, status)
    if (run === undefined) return
    const secondsLeft = typeof execution.seconds_left === 'number' ? execution.seconds_left : undefined
    const isCensored = typeof execution.censored === 'boolean' ? execution.censored : undefined
    const report = `${status}/${secondsLeft}/${isCensored}`
    if (report === run.lastReport) return
    run.lastReport = report
    run.status = status
    this.#assembler.hostedToolProgress(run.index, {
      status,
      ...(secondsLeft === undefined ? {} : { secondsLeft }),
      ...(isCensored === undefined ? {} : { isCensored })
    })
    if (status === 'failed') this.#end(run, 'failed')
    else if (status === 'completed' && run.kind !== 'web_search') this.#end(run, 'completed')
  }

  /** Ends the open search with its sources. Without a reported run the sources are the only sign of a search. */
  complete(inlineData: JsonObject, sources: HostedSource[]): void {
    if (!hasContent(inlineData)) return
    const open = this.#findOpenSearch()
    if (open === undefined && this.#hasSearched) return
    const run = open ?? this.#start('web_search')
    run.status = 'completed'
    this.#end(run, 'completed', { sources, inlineData })
  }

  /** Takes a call that the upstream has run itself: another sign of a run that it reports, or the only one. */
  addAnswered(call: CallSummary, result: unknown): void {
    const last = this.#latest.get(call.name)
    const run = last !== undefined && last.answered === undefined ? last : this.#start(call.name)
    run.answered = { call, result }
    if (run.isEnded) return
    run.status = 'completed'
    // A search stays open for its sources.
    if (run.kind !== 'web_search') this.#end(run, 'completed')
  }

  /** Reads an `additional_data` member: its steps name the queries of the searches (upstream.md 12). */
  readSteps(additionalData: unknown): void {
    for (const data of Array.isArray(additionalData) ? additionalData : [additionalData]) {
      const steps = isJsonObject(data) ? data.execution_steps : undefined
      if (Array.isArray(steps)) for (const step of steps) this.#addQuery(step)
    }
  }

  #addQuery(step: unknown): void {
    const query = isJsonObject(step) ? step.query : undefined
    if (typeof query !== 'string' || query === '' || this.#queries.length >= QUERIES_MAX) return
    // A later frame may repeat the steps.
    if (this.#queries.includes(query)) return
    this.#assembler.keep(query.length)
    this.#queries.push(query)
  }

  /** Ends the open runs with the response. An image run without success and without a file has failed. */
  finish(response: { hasFiles: boolean }): void {
    for (const run of this.#runs) {
      if (run.isEnded) continue
      const isEmpty = run.kind === 'image_generate' && run.status !== 'completed' && !response.hasFiles
      this.#end(run, isEmpty ? 'failed' : 'completed')
    }
  }

  #findOrStart(name: string, status: HostedToolStatus): HostedRun | undefined {
    const last = this.#latest.get(name)
    const isOver = status === 'completed' || status === 'failed'
    if (last === undefined) return this.#start(name)
    if (!last.isEnded) {
      // A completed search stays open for its sources; a further report of the same name is the next search.
      const isNext = last.status === 'completed' && !isOver
      if (!isNext) return last
      this.#end(last, 'completed')
      return this.#start(name)
    }
    // The upstream often reports the end of a run twice: on the part and on the message.
    return isOver ? undefined : this.#start(name)
  }

  #start(name: string): HostedRun {
    const kind = findKind(name)
    const index = this.#assembler.startHostedTool({ kind, name })
    const run: HostedRun = { index, kind, name, status: 'in-progress', lastReport: '', isEnded: false }
    this.#runs.push(run)
    this.#latest.set(name, run)
    if (kind === 'web_search') {
      this.#searches.push(run)
      this.#hasSearched = true
    }
    return run
  }

  #findOpenSearch(): HostedRun | undefined {
    while (this.#searches.at(-1)?.isEnded === true) this.#searches.pop()
    return this.#searches.at(-1)
  }

  #end(
    run: HostedRun,
    status: 'completed' | 'failed',
    found: { sources?: HostedSource[]; inlineData?: JsonObject } = {}
  ): void {
    run.isEnded = true
    run.status = status
    const query = run.kind === 'web_search' ? this.#queries[this.#queriesUsed++] : undefined
    this.#assembler.endHostedTool(run.index, { status, ...(query === undefined ? {} : { query }), ...found })
  }
}

function readStatus(word: unknown): HostedToolStatus {
  return typeof word === 'string' ? (STATUS_WORDS.get(word.toLowerCase()) ?? 'in-progress') : 'in-progress'
}

function findKind(name: string): HostedToolKind | 'other' {
  if (name.startsWith('web_search')) return 'web_search'
  switch (name) {
    case 'image_generate':
    case 'image_generation':
      return 'image_generate'
    case 'code_interpreter':
    case 'url_content_extraction':
    case 'model_3d_generate':
      return name
    default:
      return 'other'
  }
}

/** False for `inline_data` whose members are all empty: the upstream sends them when a search found nothing. */
function hasContent(inlineData: JsonObject): boolean {
  return Object.values(inlineData).some(value => {
    if (typeof value !== 'object' || value === null) return value !== null && value !== undefined
    return Object.keys(value).length > 0
  })
}
