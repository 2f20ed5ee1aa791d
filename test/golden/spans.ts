// Golden files of spans: the spans of one request as JSON, the span of the request first. `GOLDEN_UPDATE=1` writes what the collector
// received; review the diff.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ReceivedSpan } from '../support/otlp/decode.ts'

const folder = join(import.meta.dirname, 'spans')

/** The golden text of a case; writes it first when asked to. Undefined when there is none. */
export function readGoldenSpans(name: string, actual: string): string | undefined {
  const path = join(folder, `${name}.txt`)
  if (process.env.GOLDEN_UPDATE === '1') {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, actual)
  }
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

const MILLISECONDS = new Set(['latency_ms', 'upstream_latency_ms'])
const VARYING = new Map([['server.port', '<port>']])

/** The spans of a request with everything replaced that differs from run to run: ids (equal ones alike), times and ports. */
export function writeSpans(spans: readonly ReceivedSpan[]): string {
  const plain = spans.map(({ name, kind, traceId, spanId, parentSpanId, status, attributes, events, links }) => ({
    name,
    kind,
    traceId,
    spanId,
    parentSpanId,
    status,
    attributes: Object.fromEntries(
      Object.entries(attributes)
        .map(([key, value]) => [key, MILLISECONDS.has(key) ? '<ms>' : (VARYING.get(key) ?? value)] as const)
        .sort(([one], [other]) => (one < other ? -1 : 1))
    ),
    events: events.map(event => ({
      name: event.name,
      attributes: Object.fromEntries(
        Object.entries(event.attributes).map(([key, value]) => [
          key,
          MILLISECONDS.has(key) ? '<ms>' : (VARYING.get(key) ?? value)
        ])
      )
    })),
    links: links.map(link => ({ traceId: link.traceId, spanId: link.spanId }))
  }))
  return `${replaceIds(JSON.stringify(plain, undefined, 2))}\n`
}

/** UUIDs and ids of traces, spans and tool calls; each gets a number of its own. */
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const ID = new RegExp(`(?<![0-9a-f])(?:${UUID}|[0-9a-f]{32}|[0-9a-f]{16}|call_gw_[\\w-]+)(?![0-9a-f])`, 'g')

function replaceIds(text: string): string {
  const names = new Map<string, string>()
  return text.replace(ID, id => {
    const known = names.get(id) ?? `<id ${names.size + 1}>`
    names.set(id, known)
    return known
  })
}
