// The process side of the writer: waits for its configuration, opens the sinks and the socket, and closes them when the supervisor says so.
import { rm } from 'node:fs/promises'
import { createMessage } from '../../shared/ipc/checks.ts'
import { FAILURE_DETAIL_MAX } from '../../shared/ipc/messages.ts'
import {
  type FromWriterContent,
  readToWriterMessage,
  type ToWriterFields,
  type ToWriterMessage
} from '../../shared/ipc/writer-messages.ts'
import { createRuntimeLog, type RuntimeLog } from '../../shared/logging.ts'
import { listSecretTexts } from '../../shared/settings/effective.ts'
import { readTransferredSettings } from '../../shared/settings/transfer.ts'
import { type OpenSinks, openSinks, type SinkCounters } from './open-sinks.ts'
import { startRetention } from './retention.ts'
import { createTrafficServer, type TrafficServer } from './server.ts'
import { createTrafficService } from './service.ts'

const EXIT_CLEAN = 0
const EXIT_FAILED = 1
/** The writer was started by hand: starting it again cannot succeed. */
const EXIT_WRONG_USE = 2

/** How long the queues have to empty at the end; the supervisor kills the process a little later. */
const FLUSH_MS_MAX = 3_000

/** What runs from the configuration to the end. */
interface Running {
  readonly sinks: OpenSinks
  readonly server: TrafficServer
  readonly endRetention: () => void
}

/** Runs this process as the writer of the supervisor that forked it. */
export function runWriterProcess(): void {
  if (process.send === undefined) {
    process.stderr.write('The writer is started by the gateway, not by hand.\n')
    process.exitCode = EXIT_WRONG_USE
    return
  }
  let runtimeLog: RuntimeLog | undefined
  let running: Running | undefined

  const ignoreSignal = () => undefined
  // A terminal sends its signals to every process of the group; the supervisor decides what follows.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, ignoreSignal)
  process.on('exit', () => runtimeLog?.flush())
  // The supervisor has exited, so no message would ever close this process; workers end with it as well.
  process.on('disconnect', () => void close(EXIT_FAILED))
  process.on('uncaughtException', (error, origin) => {
    runtimeLog?.log.fatal({ event: 'writer_crashed', origin, err: error }, 'The writer exits after an unexpected error')
    process.exit(EXIT_FAILED)
  })
  process.on('message', value => {
    const message = readToWriterMessage(value)
    if (message !== undefined) take(message)
  })
  send({ kind: 'writer-online', pid: process.pid })

  function take(message: ToWriterMessage): void {
    switch (message.kind) {
      case 'configure-writer':
        void start(message)
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
    }
  }

  async function start(message: ToWriterFields['configure-writer']): Promise<void> {
    try {
      const settings = readTransferredSettings(message.settings)
      runtimeLog = createRuntimeLog({ settings, isQuiet: message.isQuiet, knownSecrets: listSecretTexts(settings) })
      const { log } = runtimeLog
      const sinks = await openSinks(settings, { log, counters: noCounters })
      const { queues, store, mirrors } = sinks
      const server = createTrafficServer(createTrafficService({ log, queues, store, mirrors }), log)
      // A writer that was killed has left its socket behind.
      await rm(message.socketPath, { force: true })
      await server.listen(message.socketPath)
      const endRetention =
        store === undefined || !settings.trafficLogEnabled
          ? () => undefined
          : startRetention(
              { log, nowMs: Date.now, useStore: () => store.use() },
              {
                retentionDays: settings.trafficLogRetentionDays,
                intervalMs: settings.trafficLogPurgeIntervalSeconds * 1000
              }
            )
      running = { sinks, server, endRetention }
      send({ kind: 'writer-ready' })
    } catch (error) {
      runtimeLog?.log.error(
        { event: 'writer_start_failed', err: error },
        'The writer of the traffic log could not start'
      )
      send({ kind: 'writer-failed', ...describeFailure(error) }, () => process.exit(EXIT_FAILED))
    }
  }

  async function close(exitCode: number): Promise<void> {
    running?.endRetention()
    const { sinks, server } = running ?? {}
    running = undefined
    if (sinks !== undefined) {
      await Promise.race([Promise.all(sinks.queues.map(queue => queue.flush())), wait(FLUSH_MS_MAX)])
      await server?.close()
      await sinks.close()
    }
    await runtimeLog?.drained()
    process.exit(exitCode)
  }
}

const noCounters: SinkCounters = { written: () => undefined, dropped: () => undefined, failed: () => undefined }

function wait(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms)
  })
}

function send(message: FromWriterContent, sent: () => void = () => undefined): void {
  if (process.connected) process.send?.(createMessage(message), undefined, undefined, sent)
}

/** Errors of the stores whose message tells the operator what to do and holds no secret. */
const EXPLAINED = new Set(['SchemaMissingError', 'NewerSchemaError'])

function describeFailure(error: unknown): { reason: 'configuration' | 'internal'; detail: string } {
  if (error instanceof Error && EXPLAINED.has(error.name)) {
    return { reason: 'configuration', detail: error.message.slice(0, FAILURE_DETAIL_MAX) }
  }
  const name = error instanceof Error ? error.name : typeof error
  const code = error instanceof Error && 'code' in error ? String(error.code) : name
  return { reason: 'internal', detail: `a sink of the traffic log cannot be opened: ${code}; the log says more` }
}
