// Reads the items of tools that the provider runs itself: searches with their query, code, and pictures.

import {
  type CallCollector,
  type EventAssembler,
  type HostedSource,
  type HostedToolKind,
  type HostedToolStatus,
  isJsonObject,
  type JsonObject
} from '../../../normalized/index.ts'
import type { ItemReader } from './item-reader.ts'

const kinds = new Map<unknown, HostedToolKind>([
  ['web_search_call', 'web_search'],
  ['code_interpreter_call', 'code_interpreter'],
  ['image_generation_call', 'image_generate']
])

/** The types of the items that a run of a hosted tool has. */
export const hostedItemTypes: Pick<ReadonlySet<unknown>, 'has'> = kinds

const progressOf: Readonly<Record<string, HostedToolStatus>> = {
  'response.web_search_call.searching': 'searching',
  'response.image_generation_call.generating': 'generating',
  'response.code_interpreter_call.interpreting': 'interpreting'
}

/** Begins the run of a hosted tool. */
export function createHostedReader(
  { type }: JsonObject,
  { assembler, collector }: { assembler: EventAssembler; collector: CallCollector }
): ItemReader {
  const kind = kinds.get(type) ?? 'other'
  let run: number | undefined
  collector.pass(0, () => {
    run = assembler.startHostedTool({ kind, name: kind })
  })
  return {
    isOver: false,
    progress(event) {
      const status = progressOf[event]
      if (status === undefined) return
      collector.pass(0, () => {
        if (run !== undefined) assembler.hostedToolProgress(run, { status })
      })
    },
    end(item) {
      if (this.isOver) return
      this.isOver = true
      const status = item.status === 'failed' ? 'failed' : 'completed'
      const outcome = { status, ...readSearch(item.action) } as const
      collector.pass(0, () => {
        if (run !== undefined) assembler.endHostedTool(run, outcome)
        if (kind === 'image_generate') addPicture(item, assembler)
      })
    }
  }
}

/** The query of a search and its sources, where the provider was asked for them. */
function readSearch(action: unknown): { query?: string; sources?: HostedSource[] } {
  if (!isJsonObject(action)) return {}
  const { query, queries, sources } = action
  const first: unknown = typeof query === 'string' ? query : Array.isArray(queries) ? queries[0] : undefined
  const found = Array.isArray(sources) ? sources.flatMap(readSource) : []
  return { ...(typeof first === 'string' && { query: first }), ...(found.length > 0 && { sources: found }) }
}

function readSource(source: unknown): HostedSource[] {
  if (!isJsonObject(source) || typeof source.url !== 'string') return []
  return [{ id: source.url, url: source.url, title: '' }]
}

function addPicture({ id, result, output_format: format }: JsonObject, assembler: EventAssembler): void {
  if (typeof result !== 'string' || result === '') return
  const mediaType = `image/${typeof format === 'string' ? format : 'png'}`
  assembler.file({ fileId: typeof id === 'string' ? id : '', mediaType, target: 'image', base64: result })
}
