// Assembles tracing: queue, exporter, SDK, and the observer that turns a request into spans
// (operations.md 11). Loaded only when tracing is on; everything of OpenTelemetry is imported from
// here.
import type { Logger } from '../../../shared/logging.ts'
import type { ProfileCredentials, ProfileSet } from '../../../shared/profile/profile.ts'
import { listSecretTexts } from '../../../shared/settings/effective.ts'
import type { Settings } from '../../../shared/settings.ts'
import type { RequestObserver } from '../observer.ts'
import { readCaptureSwitches } from './capture-switches.ts'
import { createExporter } from './exporter.ts'
import { createHeadSampler } from './head-sampler.ts'
import { startProvider } from './provider.ts'
import { type SpanCounts, SpanQueue } from './span-queue.ts'
import { SpanWriter } from './span-writer.ts'
import { DecidedIds } from './trace-ids.ts'
import { createTracingObserver } from './tracing-observer.ts'

export interface TracingOptions {
  readonly settings: Settings
  readonly profiles: ProfileSet
  readonly credentials: ProfileCredentials
  readonly workerId: number
  readonly version: string
  readonly log: Logger
  readonly counts: SpanCounts
}

/** Rejects when the exporter cannot be created. */
export async function createTracing(options: TracingOptions): Promise<RequestObserver> {
  const { settings, profiles, credentials, workerId, version, log, counts } = options
  const knownSecrets = [...listSecretTexts(settings), ...Object.values(credentials).map(secret => secret.reveal())]
  const exporter = await createExporter(settings, version)
  const ids = new DecidedIds()
  const provider = startProvider({
    projectName: settings.traceProjectName,
    version,
    workerId,
    idGenerator: ids,
    queue: new SpanQueue({
      exporter,
      size: settings.observabilityQueueSize,
      dropsWhenFull: settings.observabilityDropOnBackpressure,
      batchSize: batchSize(settings),
      counts,
      log,
      nowMs: () => performance.now()
    })
  })
  const observer = createTracingObserver({
    capture: readCaptureSwitches(settings, knownSecrets),
    isSampledAtHead: createHeadSampler(settings.observabilitySampleRate),
    writer: new SpanWriter(provider.tracer, ids),
    profiles,
    onFailed(error, spans) {
      counts.dropped(spans)
      log.warn({ event: 'span_failed', err: error }, 'The spans of a request could not be written')
    }
  })
  return {
    ...observer,
    async close(withinMs) {
      await observer.close?.(withinMs)
      await provider.close()
    }
  }
}

const BATCH_MAX = 512
/** Collectors refuse messages beyond 4 MiB unless they are configured otherwise. */
const BATCH_CHARACTERS_MAX = 2 * 1024 * 1024
/**
 * Messages, responses, tools and tool calls may each be captured, in an attribute of OpenInference
 * and in one of its own.
 */
const CAPTURED_ATTRIBUTES = 6

/**
 * How many spans one export holds: as many as a collector takes when every one of them has all its
 * captured texts.
 */
function batchSize(settings: Settings): number {
  if (!settings.observabilityCaptureContent) return BATCH_MAX
  const charactersMax = CAPTURED_ATTRIBUTES * settings.observabilityMaxContentLength
  return Math.max(1, Math.min(BATCH_MAX, Math.floor(BATCH_CHARACTERS_MAX / charactersMax)))
}
