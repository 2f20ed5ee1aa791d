// Connects the sink to the search server of the settings.
import type { Logger } from '../../../../shared/logging.ts'
import type { WriterSettings } from '../../../../shared/settings/writer-settings.ts'
import type { RedactableSink } from '../../sink.ts'
import { connectToSearchServer } from './server.ts'
import { createOpensearchSink } from './sink.ts'

const TIMEOUT_MS = 30_000
const RETRY_MIN_MS = 100

/** Creates the sink; no call is made before the first write. Raises a `TypeError` for a URL that cannot be used. */
export function connectToOpensearch(settings: WriterSettings, log: Logger): RedactableSink {
  const server = connectToSearchServer({
    url: settings.searchIndexUrl,
    username: settings.opensearchUsername?.reveal(),
    password: settings.opensearchPassword?.reveal(),
    timeoutMs: TIMEOUT_MS
  })
  return createOpensearchSink(
    { server, log, random: Math.random },
    {
      index: settings.opensearchIndex,
      isDataStream: settings.opensearchDataStream,
      retentionDays: settings.trafficLogRetentionDays,
      retryMinMs: RETRY_MIN_MS
    }
  )
}
