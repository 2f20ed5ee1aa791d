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

interface HostedRun {
  index: number
  kind: HostedToolKind | 'other'
  name: string
  status: HostedToolStatus
  /** The last report, so that repetitions of it are ignored. */
  lastReport: string
  isEnded: boolean
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
  ['searching', 'searching']
])

export class HostedRuns {
  readonly #assembler: EventAssembler
  readonly #runs: HostedRun[] = []

  constructor(assembler: EventAssembler) {
    this.#assembler = assembler
  }

  /** Names of the tools that ran, in order of their first run. */
  get names(): string[] {
    return [...new Set(this.#runs.map(run => run.name))]
  }

  /** The status of every run. */
  get results(): Array<{ name: string; status: HostedToolStatus }> {
    return this.#runs.map(({ name, status }) => ({ name, status }))
  }

  /** Reads a `tool_execution` member. */
  report(execution: unknown): void {
    if (!isJsonObject(execution) || typeof execution.name !== 'string' || execution.name === '') return
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
    const open = this.#runs.findLast(run => run.kind === 'web_search' && !run.isEnded)
    if (open === undefined && this.#runs.some(run => run.kind === 'web_search')) return
    const run = open ?? this.#start('web_search')
    run.status = 'completed'
    this.#end(run, 'completed', { sources, inlineData })
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
    const last = this.#runs.findLast(run => run.name === name)
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
    return run
  }

  #end(
    run: HostedRun,
    status: 'completed' | 'failed',
    found: { sources?: HostedSource[]; inlineData?: JsonObject } = {}
  ): void {
    run.isEnded = true
    run.status = status
    this.#assembler.endHostedTool(run.index, { status, ...found })
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
