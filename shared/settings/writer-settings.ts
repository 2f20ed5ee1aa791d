// The settings that the writer of the traffic log gets: those of its sinks and of its log. Keys of clients and of providers are not among
// them, so that a fault in the writer or in a database driver cannot show them.
import { Secret } from '../secrets/secret.ts'
import { assembleSettings, type Settings, type SettingsKey } from '../settings.ts'
import type { SettingName } from './table.ts'
import { readTransferredValues, type TransferredSettings, writeTransferredSettings } from './transfer.ts'

export const WRITER_SETTINGS = [
  'GATEWAY_MODE',
  'GATEWAY_LOG_LEVEL',
  'GATEWAY_LOG_FORMAT',
  'GATEWAY_LOG_FILENAME',
  'GATEWAY_LOG_REDACT_SENSITIVE',
  'GATEWAY_TRAFFIC_LOG_ENABLED',
  'GATEWAY_TRAFFIC_LOG_SINK',
  'GATEWAY_TRAFFIC_LOG_SINKS',
  'GATEWAY_TRAFFIC_LOG_JSONL_PATH',
  'GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN',
  'GATEWAY_TRAFFIC_LOG_AUTO_MIGRATE',
  'GATEWAY_TRAFFIC_LOG_QUEUE_SIZE',
  'GATEWAY_TRAFFIC_LOG_BATCH_SIZE',
  'GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS',
  'GATEWAY_TRAFFIC_LOG_DROP_ON_BACKPRESSURE',
  'GATEWAY_TRAFFIC_LOG_SPILL_DIR',
  'GATEWAY_TRAFFIC_LOG_SPILL_MAX_BYTES',
  'GATEWAY_TRAFFIC_LOG_RETENTION_DAYS',
  'GATEWAY_TRAFFIC_LOG_ERROR_RETENTION_DAYS',
  'GATEWAY_TRAFFIC_LOG_CONTENT_RETENTION_DAYS',
  'GATEWAY_TRAFFIC_LOG_PURGE_INTERVAL_SECONDS',
  'GATEWAY_SEARCH_INDEX_URL',
  'GATEWAY_OPENSEARCH_INDEX',
  'GATEWAY_OPENSEARCH_DATA_STREAM',
  'GATEWAY_OPENSEARCH_USERNAME',
  'GATEWAY_OPENSEARCH_PASSWORD',
  'GATEWAY_OPENSEARCH_BULK_SIZE',
  'GATEWAY_OPENSEARCH_FLUSH_INTERVAL_MS'
] as const satisfies readonly SettingName[]

/** What the code of the writer may read. */
export type WriterSettings = Pick<Settings, SettingsKey<(typeof WRITER_SETTINGS)[number]>>

/** The writer's settings as plain data, secrets in plain text. `readWriterSettings` is the inverse. */
export function writeWriterSettings(settings: Settings): TransferredSettings {
  return writeTransferredSettings(settings, WRITER_SETTINGS)
}

/** Settings from what `writeWriterSettings` returned. Throws `SettingsError` for anything else. */
export function readWriterSettings(transferred: TransferredSettings): WriterSettings {
  return assembleSettings(readTransferredValues(transferred, WRITER_SETTINGS))
}

/** The texts of the secrets among them, which must be masked in every log line. */
export function listWriterSecrets(settings: WriterSettings): string[] {
  return Object.values(settings).flatMap(value => (value instanceof Secret ? [value.reveal()] : []))
}
