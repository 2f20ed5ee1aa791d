// What the demo records and stores, so that its dashboard shows requests at once and Responses have a memory: databases in a folder of
// its own, which is removed at the end.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UNRECORDED_ROUTES } from '../../shared/traffic/unrecorded-routes.ts'

export interface DemoStorage {
  /** For the settings that the operator has not set. */
  readonly variables: Readonly<Record<string, string>>
  /** The admin key of this run; undefined where the operator has set one. */
  readonly adminKey: string | undefined
  /** Removes the databases. */
  remove(): void
}

/** With one of these set, the operator decides what is recorded and where. */
const RECORDING_SETTINGS = [
  'GATEWAY_TRAFFIC_LOG_ENABLED',
  'GATEWAY_TRAFFIC_LOG_SINK',
  'GATEWAY_TRAFFIC_LOG_SINKS',
  'GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN',
  'GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT',
  'GATEWAY_TRAFFIC_LOG_EXCLUDE_ROUTES'
] as const

/** Requests of the page itself would hide those that a reader looks for: here also the records that are opened. */
const PAGE_ROUTES = [
  ...UNRECORDED_ROUTES,
  ...['/{id}', '/{id}/request', '/{id}/response'].map(path => `/_admin/logs${path}`)
]

/** 128 bits. */
const KEY_BYTES = 16

/** Makes the folder unless the operator has decided about records and responses. Throws the system's error. */
export function createDemoStorage(givenSettings: ReadonlySet<string>): DemoStorage {
  const adminKey = givenSettings.has('GATEWAY_ADMIN_API_KEY') ? undefined : randomBytes(KEY_BYTES).toString('hex')
  const switches = {
    ...(!givenSettings.has('GATEWAY_ADMIN_API_ENABLED') && { GATEWAY_ADMIN_API_ENABLED: 'true' }),
    ...(!givenSettings.has('GATEWAY_REPLAY_ENABLED') && { GATEWAY_REPLAY_ENABLED: 'true' }),
    ...(adminKey !== undefined && { GATEWAY_ADMIN_API_KEY: adminKey })
  }
  const keepsRecords = !RECORDING_SETTINGS.some(name => givenSettings.has(name))
  const keepsResponses = !givenSettings.has('GATEWAY_RESPONSES_STORE_DSN')
  if (!keepsRecords && !keepsResponses) return { variables: switches, adminKey, remove: () => undefined }
  // The system creates it with mode 0700.
  const folder = mkdtempSync(join(tmpdir(), 'llm-gateway-demo-'))
  return {
    variables: {
      ...switches,
      ...(keepsRecords && describeRecords(join(folder, 'traffic.sqlite'))),
      ...(keepsResponses && { GATEWAY_RESPONSES_STORE_DSN: `sqlite:${join(folder, 'responses.sqlite')}` })
    },
    adminKey,
    remove: () => rmSync(folder, { recursive: true, force: true })
  }
}

function describeRecords(file: string): Record<string, string> {
  return {
    GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
    GATEWAY_TRAFFIC_LOG_SINK: 'sqlite',
    GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: `sqlite:${file}`,
    // Only scripted responses, kept until the end of the demo. Without it nothing can be replayed.
    GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true',
    GATEWAY_TRAFFIC_LOG_EXCLUDE_ROUTES: JSON.stringify(PAGE_ROUTES)
  }
}
