// What a disturbing client sends in the isolation figures: every kind of request and of response that costs more than an ordinary one.

import type { Family, FamilyRequest } from './bodies.ts'
import { writeRequest } from './bodies.ts'
import {
  writeAsking,
  writeCallsAndResults,
  writeCount,
  writeEmbeddings,
  writeManyMessages,
  writeManyTools,
  writeSmallTools,
  writeStopStrings,
  writeUnknownMembers
} from './large-bodies.ts'

export interface Disturbance {
  name: string
  write: () => FamilyRequest
  /** How long small requests take beside it is judged; of every other one only the blocks, the growth and the losses are. */
  isLatencyJudged?: boolean
  /** How a bound may refuse the request or its response. */
  refusals?: string[]
}

const MEGABYTE = 1_000_000
/** Just below the size from which bodies go to the pool. */
const BELOW_THRESHOLD_BYTES = 515_000
/** How a bound refuses a request with too many items. */
const ITEM_BOUNDS = ['400 invalid_request', '400 INVALID_ARGUMENT', '413 request_entity_too_large']
/** How a bound refuses a response. */
const RESPONSE_BOUNDS = ['200 provider_protocol_error', '502 provider_protocol_error']
const TEXTS = 2000
const TOKEN_LISTS = 2048
const TOOLS = 1000

const families: Family[] = ['completions', 'responses', 'messages', 'content']
const stopFamilies = ['completions', 'messages', 'content'] as const

const ordinary = { model: 'bench-L0-N1-G0', isStream: false }

const requests: Disturbance[] = [
  ...families.map(family => ({
    name: `8 MB of text, ${family}`,
    write: () => writeRequest(family, { ...ordinary, bytes: 8 * MEGABYTE }),
    isLatencyJudged: true
  })),
  ...families.map(family => ({
    name: `8 MB of small messages, ${family}`,
    write: () => writeManyMessages(family, 8 * MEGABYTE),
    refusals: ITEM_BOUNDS
  })),
  ...families.map(family => ({
    name: `4 MB of calls and results, ${family}`,
    write: () => writeCallsAndResults(family, 4 * MEGABYTE),
    refusals: ITEM_BOUNDS
  })),
  ...families.flatMap(family =>
    [false, true].map(isStream => ({
      name: `1000 tools, ${family}${isStream ? ', streamed' : ''}`,
      write: () => writeManyTools(family, TOOLS, isStream)
    }))
  ),
  ...families.map(family => ({
    name: `500 KB of messages, ${family}`,
    write: () => writeManyMessages(family, BELOW_THRESHOLD_BYTES),
    refusals: ITEM_BOUNDS
  })),
  ...families.map(family => ({
    name: `500 KB of tools, ${family}`,
    write: () => writeSmallTools(family, BELOW_THRESHOLD_BYTES),
    refusals: ITEM_BOUNDS
  })),
  ...families.map(family => ({
    name: `500 KB of calls and results, ${family}`,
    write: () => writeCallsAndResults(family, BELOW_THRESHOLD_BYTES),
    refusals: ITEM_BOUNDS
  })),
  ...families.map(family => ({
    name: `500 KB of unknown members, ${family}`,
    write: () => writeUnknownMembers(family, BELOW_THRESHOLD_BYTES),
    refusals: ITEM_BOUNDS
  })),
  ...stopFamilies.map(family => ({
    name: `500 KB of stop strings, ${family}`,
    write: () => writeStopStrings(family, BELOW_THRESHOLD_BYTES),
    refusals: ITEM_BOUNDS
  }))
]

const countsAndVectors: Disturbance[] = [
  { name: 'count of 10,000 tokens, messages', write: () => writeCount('messages', 1, 45_000) },
  { name: 'count of 7 MB, messages', write: () => writeCount('messages', 1, 7 * MEGABYTE) },
  { name: 'count of 7 MB, content', write: () => writeCount('content', 1, 7 * MEGABYTE) },
  { name: 'count of 50,000 texts, messages', write: () => writeCount('messages', 50_000, 3 * MEGABYTE) },
  { name: 'embeddings of 2000 texts', write: () => writeEmbeddings(TEXTS, 'float') },
  { name: 'embeddings of 2000 texts, base64', write: () => writeEmbeddings(TEXTS, 'base64') },
  { name: 'embeddings of 2000 texts, content', write: () => writeEmbeddings(TEXTS, 'batch') },
  { name: 'embeddings of 2048 token lists', write: () => writeEmbeddings(TOKEN_LISTS, 'tokens') }
]

const responses: Disturbance[] = [
  ...families.map(family => ({
    name: `response of 16 MB, ${family}`,
    write: () => writeAsking(family, { form: `text-${16 * MEGABYTE}`, isStream: false })
  })),
  {
    name: 'response of 60 MB',
    write: () => writeAsking('completions', { form: `text-${60 * MEGABYTE}`, isStream: false })
  },
  listed('calls', 'completions', false),
  ...families.map(family => listed('calls', family, true)),
  listed('runs', 'completions', true),
  listed('runs', 'responses', true),
  listed('files', 'responses', false),
  listed('files', 'completions', true),
  listed('files', 'content', true),
  ...families.map(family => ({
    name: `stream with frames of 4 MB, ${family}`,
    write: () => writeAsking(family, { form: 'frames-4', isStream: true })
  })),
  ...families.map(family => ({
    name: `stream of 50,000 events, ${family}`,
    write: () => writeAsking(family, { form: 'stream-50000', isStream: true })
  }))
]

export const disturbances: Disturbance[] = [
  ...requests,
  ...countsAndVectors,
  ...responses.map(one => ({ ...one, refusals: RESPONSE_BOUNDS }))
]

/** The models that these ask for, each once. */
export function listModels(asked: readonly Disturbance[]): string[] {
  const models = asked.flatMap(({ write }) => {
    const { path, body } = write()
    return MODEL.exec(path) ?? MODEL.exec(body) ?? []
  })
  return [...new Set(models)]
}

/** It stands in the path or is the first member of the body. */
const MODEL = /bench-[\w-]+/

function listed(form: 'calls' | 'runs' | 'files', family: Family, isStream: boolean): Disturbance {
  return {
    name: `response of 1000 ${form}, ${family}${isStream ? ', streamed' : ''}`,
    write: () => writeAsking(family, { form: `${form}-1000`, isStream, apiMode: 'v2' })
  }
}
