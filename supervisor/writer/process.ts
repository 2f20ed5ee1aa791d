// The process side of the writer: waits for its configuration, opens the sinks and the socket, and closes them when the supervisor says so.

import { rm, rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { withDeadline } from '../../shared/deadline.ts'
import { createMessage } from '../../shared/ipc/checks.ts'
import { type ChildHost, createProcessHost } from '../../shared/ipc/child-host.ts'
import { FAILURE_DETAIL_MAX } from '../../shared/ipc/messages.ts'
import {
  type FromWriterContent,
  readToWriterMessage,
  type ToWriterFields,
  type ToWriterMessage
} from '../../shared/ipc/writer-messages.ts'
import { createRuntimeLog, type RuntimeLog } from '../../shared/logging.ts'
import { listWriterSecrets, readWriterSettings } from '../../shared/settings/writer-settings.ts'
import { createDropLog, type DropLog } from './drop-log.ts'
import { type OpenSinks, openSinks, type SinkCounters, SinkOpenError } from './open-sinks.ts'
import { startRetention } from './retention.ts'
import { createTrafficServer, type TrafficServer } from './server.ts'
import { createTrafficService } from './service.ts'
import { SchemaError } from './store/schema-errors.ts'

const EXIT_CLEAN = 0
const EXIT_FAILED = 1
/** The writer was started by hand, not by a supervisor; a restart cannot succeed. */
const EXIT_WRONG_USE = 2

/**
 * Bounds of the steps of the end: the supervisor gives workers and the writer five seconds together, and workers may need more than half of
 * them.
 */
const DRAIN_MS_MAX = 500
const FLUSH_MS_MAX = 1_500
const CLOSE_MS_MAX = 500
const DROP_REPORT_INTERVAL_MS = 10_000
const METRICS_REPORT_INTERVAL_MS = 1_000
/** New files are readable only by their owner: records may hold prompts. */
const PRIVATE_UMASK = 0o077

/** What runs from the configuration to the end. */
interface Running {
  readonly sinks: OpenSinks
  readonly server: TrafficServer
  readonly drops: DropLog
  readonly endRetention: () => void
}

/** Runs this process as the writer of the supervisor that forked it. */
export function runWriterProcess(): void {
  const host = createProcessHost()
  if (host === undefined) {
    process.stderr.write('The writer is started by the gateway, not by hand.\n')
    process.exitCode = EXIT_WRONG_USE
    return
  }
  runWriter(host)
}

/** Runs the writer. */
export function runWriter(host: ChildHost): void {
  host.limitFileRights(PRIVATE_UMASK)
  let runtimeLog: RuntimeLog | undefined
  let running: Running | undefined
  let socketPath: string | undefined
  let isConfigured = false
  let isClosing = false
  /** Sends what was counted since the last report; does nothing while metrics are off. */
  let reportMetrics: () => void = () => undefined

  host.onExit(() => runtimeLog?.flush())
  // The supervisor has exited, so no message will close this process; the workers exit as well.
  host.onDisconnect(() => void close(EXIT_FAILED))
  host.onUncaughtError((error, origin) => {
    runtimeLog?.log.fatal({ event: 'writer_crashed', origin, err: error }, 'The writer exits after an unexpected error')
    host.exit(EXIT_FAILED)
  })
  host.onMessage(value => {
    const message = readToWriterMessage(value)
    if (message !== undefined) take(message)
  })
  send({ kind: 'writer-online', pid: host.pid })

  function send(message: FromWriterContent, sent?: () => void): void {
    host.send(createMessage(message), sent)
  }

  function take(message: ToWriterMessage): void {
    switch (message.kind) {
      case 'configure-writer':
        if (!isConfigured) void start(message)
        isConfigured = true
        break
      case 'close-writer':
        void close(EXIT_CLEAN)
        break
      case 'reopen-log':
        runtimeLog?.reopen()
        break
      case 'ping':
        send({ kind: 'pong', nonce: message.nonce })
        break
      case 'metrics-collect':
        reportMetrics()
        send({ kind: 'metrics-collected', requestId: message.requestId })
        break
    }
  }

  async function start(message: ToWriterFields['configure-writer']): Promise<void> {
    try {
      socketPath = message.socketPath
      const settings = readWriterSettings(message.settings)
      const knownSecrets = listWriterSecrets(settings)
      runtimeLog = createRuntimeLog({ settings, isQuiet: message.isQuiet, knownSecrets, stdout: host.stdout })
      const { log } = runtimeLog
      const drops = createDropLog({ log, intervalMs: DROP_REPORT_INTERVAL_MS })
      const metrics = message.hasMetrics ? await startMetrics() : undefined
      const counters: SinkCounters = {
        written: (sink, count, durationMs) => metrics?.counters.written(sink, count, durationMs),
        dropped(sink, reason, count) {
          metrics?.counters.dropped(sink, reason, count)
          drops.note(sink, reason, count)
        },
        failed: sink => metrics?.counters.failed(sink)
      }
      const sinks = await openSinks(settings, { log, counters })
      metrics?.watch(sinks)
      const { queues, store, mirrors } = sinks
      const server = createTrafficServer(createTrafficService({ log, queues, store, mirrors }), log)
      // A writer that was killed has left its socket behind.
      await rm(socketPath, { force: true })
      await server.listen(socketPath)
      const endRetention =
        store === undefined || !settings.trafficLogEnabled
          ? () => undefined
          : startRetention(
              { log, nowMs: Date.now, useStore: () => store.use() },
              {
                periods: {
                  records: settings.trafficLogRetentionDays,
                  failedRecords: settings.trafficLogErrorRetentionDays
                },
                contentDays: settings.trafficLogContentRetentionDays,
                intervalMs: settings.trafficLogPurgeIntervalSeconds * 1000
              }
            )
      running = { sinks, server, drops, endRetention }
      send({ kind: 'writer-ready' })
    } catch (error) {
      runtimeLog?.log.error(
        { event: 'writer_start_failed', err: error },
        'The writer of the traffic log could not start'
      )
      send({ kind: 'writer-failed', ...describeFailure(error) }, () => host.exit(EXIT_FAILED))
    }
  }

  async function startMetrics(): Promise<{ counters: SinkCounters; watch: (sinks: OpenSinks) => void }> {
    const [{ createMetricRegistry }, { createSinkCounters, watchSinks }] = await Promise.all([
      import('../../shared/metrics/registry.ts'),
      import('./sink-metrics.ts')
    ])
    const registry = createMetricRegistry()
    reportMetrics = () => {
      const delta = registry.takeDelta()
      if (delta !== undefined) send({ kind: 'metrics-delta', delta })
    }
    setInterval(reportMetrics, METRICS_REPORT_INTERVAL_MS).unref()
    return { counters: createSinkCounters(registry), watch: sinks => watchSinks(registry, sinks) }
  }

  /**
   * Stores the received records and exits, within a fixed time also when a sink does not respond.
   */
  async function close(exitCode: number): Promise<void> {
    if (isClosing) return
    isClosing = true
    if (running !== undefined) {
      const { sinks, server, drops, endRetention } = running
      endRetention()
      // The workers have exited, but their last messages may not be read yet.
      await withDeadline(server.drained(), DRAIN_MS_MAX)
      await withDeadline(Promise.all(sinks.queues.map(queue => queue.flush())), FLUSH_MS_MAX)
      const closed = sinks.close().catch((error: unknown) => {
        runtimeLog?.log.warn({ event: 'traffic_sink_close_failed', err: error }, 'A sink could not be closed in order')
      })
      await withDeadline(Promise.all([server.close(), closed]), CLOSE_MS_MAX)
      drops.close()
    }
    reportMetrics()
    if (!host.isConnected) await removeSocketFolder()
    await runtimeLog?.drained()
    host.exit(exitCode)
  }

  /** The supervisor removes it; after a crash of the supervisor it would stay. */
  async function removeSocketFolder(): Promise<void> {
    if (socketPath === undefined || process.platform === 'win32') return
    await rm(socketPath, { force: true }).catch(() => undefined)
    await rmdir(dirname(socketPath)).catch(() => undefined)
  }
}

/** A later start does not help against these errors of files. */
const WRONG_FILES = /^(EACCES|EEXIST|EISDIR|ELOOP|ENOENT|ENOTDIR|EPERM|EROFS|SQLITE_(CANTOPEN|NOTADB|PERM|READONLY).*)$/

function describeFailure(error: unknown): { reason: 'configuration' | 'internal'; detail: string } {
  if (error instanceof SinkOpenError) {
    const reason = error.isOfValue || WRONG_FILES.test(error.code) ? 'configuration' : 'internal'
    return { reason, detail: error.message.slice(0, FAILURE_DETAIL_MAX) }
  }
  if (error instanceof SchemaError) {
    return { reason: 'configuration', detail: error.message.slice(0, FAILURE_DETAIL_MAX) }
  }
  const name = error instanceof Error ? error.name : typeof error
  const code = error instanceof Error && 'code' in error ? String(error.code) : name
  return { reason: 'internal', detail: `the writer of the traffic log cannot start: ${code}; the log says more` }
}
