// Which sinks the settings ask for, and which of them answers questions (operations.md 8.3 and 9).
import type { SettingIssue, Settings } from '../settings.ts'

export const SINK_NAMES = ['jsonl', 'sqlite', 'postgres', 'opensearch'] as const
export type SinkName = (typeof SINK_NAMES)[number]
export type RelationalName = 'sqlite' | 'postgres'

export interface SinkPlan {
  /** Each once, in the order of the settings; empty while the traffic log is off. */
  readonly sinks: readonly SinkName[]
  /** The store that questions go to, whether or not the traffic log is on. */
  readonly relational:
    | { readonly name: RelationalName /** Path of a file, or a DSN. */; readonly location: string }
    | undefined
  /** The settings contradict each other. */
  readonly issues: readonly SettingIssue[]
}

const DEFAULT_SQLITE_PATH = 'traffic_logs.sqlite'
const DSN = 'GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN'

type SinkSettings = Pick<
  Settings,
  'trafficLogEnabled' | 'trafficLogSink' | 'trafficLogSinks' | 'trafficLogRelationalDsn'
>

/** Reads the sinks out of the settings. */
export function planSinks(settings: SinkSettings): SinkPlan {
  const issues: SettingIssue[] = []
  const given = settings.trafficLogRelationalDsn?.reveal()
  if (given !== undefined && isForeignAddress(given)) {
    issues.push({ setting: DSN, message: 'must be sqlite:<path>, a path, or an address that begins with postgres://' })
  }
  const dsn = readDsn(given)
  const wanted = settings.trafficLogSinks.length > 0 ? settings.trafficLogSinks : [settings.trafficLogSink]
  const names = wanted.flatMap((name): SinkName[] => {
    if (name === 'noop') return []
    if (name === 'relational') return [dsn?.name ?? 'sqlite']
    return name === 'search_index' ? ['opensearch'] : [name]
  })
  const sinks = [...new Set(names)]
  const relationalNames = sinks.filter(name => name === 'sqlite' || name === 'postgres')
  const [name, second] = relationalNames
  if (second !== undefined) {
    issues.push({ setting: 'GATEWAY_TRAFFIC_LOG_SINKS', message: 'must name at most one relational sink' })
  }
  if (name === 'postgres' && dsn === undefined) {
    issues.push({ setting: DSN, message: 'must be set for the sink postgres' })
  } else if (issues.length === 0 && name !== undefined && dsn !== undefined && dsn.name !== name) {
    issues.push({ setting: DSN, message: `must be the address of a ${name} database, because the sink is ${name}` })
  }
  const location = dsn?.location ?? DEFAULT_SQLITE_PATH
  return {
    sinks: settings.trafficLogEnabled ? sinks : [],
    relational: name === undefined || issues.length > 0 ? undefined : { name, location },
    issues
  }
}

const POSTGRES = /^postgres(ql)?:\/\//i
const SQLITE = /^sqlite:(\/\/(?=\/))?/i

/** An address of another kind of database would otherwise be the path of a file, with its password as the name of a directory. */
function isForeignAddress(dsn: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(dsn) && !POSTGRES.test(dsn) && !SQLITE.test(dsn)
}

/** `sqlite:<path>`, a bare path, or an address of Postgres. */
function readDsn(dsn: string | undefined): { name: RelationalName; location: string } | undefined {
  if (dsn === undefined) return undefined
  if (POSTGRES.test(dsn)) return { name: 'postgres', location: dsn }
  return { name: 'sqlite', location: dsn.replace(SQLITE, '') }
}
