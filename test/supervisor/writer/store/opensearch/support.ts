// Starts a sink with a search server of the test.
import { pino } from 'pino'
import type { Test } from 'tap'
import type { TrafficRecord } from '../../../../../shared/traffic/record.ts'
import type { RedactableSink } from '../../../../../supervisor/writer/sink.ts'
import { connectToSearchServer } from '../../../../../supervisor/writer/store/opensearch/server.ts'
import {
  createOpensearchSink,
  type OpensearchSinkOptions
} from '../../../../../supervisor/writer/store/opensearch/sink.ts'
import {
  type SearchServerFake,
  type SearchServerFakeOptions,
  startSearchServer
} from '../../../../support/opensearch.ts'

export interface SinkOptions extends Partial<OpensearchSinkOptions> {
  readonly timeoutMs?: number
  readonly username?: string
  readonly password?: string
}

/** A sink of the server with short pauses, and the lines that it logs. */
export function createSink(t: Test, { url }: SearchServerFake, { timeoutMs = 30_000, ...options }: SinkOptions = {}) {
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: line => void lines.push(line) })
  const { username, password, ...others } = options
  const server = connectToSearchServer({ url, timeoutMs, username, password })
  const sink = createOpensearchSink(
    { server, log, random: () => 0 },
    { index: 'gateway-traffic', isDataStream: true, retentionDays: 30, retryMinMs: 1, ...others }
  )
  t.teardown(() => sink.close())
  return { sink, lines }
}

export async function startSink(
  t: Test,
  options: SinkOptions = {},
  serverOptions: SearchServerFakeOptions = {}
): Promise<{ server: SearchServerFake; sink: RedactableSink; lines: string[] }> {
  const server = await startSearchServer(t, serverOptions)
  return { server, ...createSink(t, server, options) }
}

export const idsOf = (records: readonly TrafficRecord[]): string[] => records.map(({ id }) => id).sort()

export function storedIds(server: SearchServerFake): string[] {
  return server
    .documents()
    .map(({ id }) => id)
    .sort()
}
