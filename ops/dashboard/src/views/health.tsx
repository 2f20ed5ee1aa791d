// The writer of records and its sinks: what was written, what waits, and what was dropped.
import { useNavigation } from '../address.ts'
import type { Api, Health as HealthFacts } from '../data/api.ts'
import { formatAgo, formatBytes, formatCount, formatDateTime } from '../data/format.ts'
import { useLoaded } from '../loaded.ts'
import { FiguresTable } from '../parts/figures-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Refresh, readsRefresh } from '../parts/refresh.tsx'
import { ViewHead } from '../parts/view-head.tsx'

const REFRESH_MS = 5_000
const COLUMNS = ['Sink', 'State', 'Written', 'Wait in memory', 'Wait on disk', 'Dropped']

const WRITER_TEXTS: Readonly<Record<HealthFacts['writer'], string>> = {
  connected: 'The writer of records is running.',
  disconnected: 'The writer of records is not reachable. It is started again on its own.',
  absent: 'There is no writer: neither records nor a store are configured.'
}

const ask = (api: Api, signal: AbortSignal) => api.health(signal)

export function Health() {
  const { params } = useNavigation()
  const loaded = useLoaded(ask, { everyMs: readsRefresh(params) ? REFRESH_MS : undefined })
  return (
    <section class="view" aria-labelledby="sinks-title">
      <ViewHead name="sinks" title="Sinks">
        <Refresh atMs={loaded.atMs} isLoading={false} onRefresh={loaded.reload} />
      </ViewHead>
      <LoadedView loaded={loaded}>
        {health => <HealthView health={health} nowMs={loaded.atMs ?? Date.now()} />}
      </LoadedView>
    </section>
  )
}

function HealthView({ health, nowMs }: { health: HealthFacts; nowMs: number }) {
  const { enabled, query_store, writer, sinks, store } = health
  const sum = (read: (sink: HealthFacts['sinks'][number]) => number) =>
    sinks.reduce((total, sink) => total + read(sink), 0)
  return (
    <>
      {store !== null && (
        <dl class="tiles">
          <Tile name="Records in the store" value={formatCount(store.records_estimate)} note="estimated" />
          <Tile
            name="Oldest record"
            value={store.oldest_record === null ? 'none yet' : formatAgo(store.oldest_record, nowMs)}
            note={store.oldest_record === null ? '' : formatDateTime(store.oldest_record)}
          />
          <Tile
            name="Size of the store"
            value={formatBytes(store.bytes)}
            note={store.wal_bytes === null ? '' : `and ${formatBytes(store.wal_bytes)} of write-ahead log`}
          />
          <Tile name="Wait for a sink" value={formatCount(sum(({ queue_depth }) => queue_depth))} note="in memory" />
          <Tile
            name="Dropped"
            value={formatCount(sum(({ dropped }) => dropped))}
            note="since the start"
            level={sum(({ dropped }) => dropped) > 0 ? 'alarming' : ''}
          />
        </dl>
      )}
      <ul class="card states">
        <State level={enabled ? 'good' : 'none'}>
          {enabled ? 'Requests are recorded.' : 'Requests are not recorded.'}
        </State>
        <State level={writer === 'connected' ? 'good' : 'failed'}>{WRITER_TEXTS[writer]}</State>
        <State level={query_store === null ? 'failed' : 'good'}>
          {query_store === null ? 'No store can be queried.' : `Queries go to ${query_store}.`}
        </State>
        {query_store !== null && (
          <State level={store === null ? 'failed' : 'good'}>
            {store === null ? 'The store does not answer.' : 'The store answers.'}
          </State>
        )}
      </ul>
      {sinks.length > 0 && (
        <FiguresTable label="Sinks" columns={COLUMNS} names={2}>
          {sinks.map(sink => (
            <tr key={sink.name}>
              <th scope="row">{sink.name}</th>
              <td>
                <span class={`status ${sink.available ? 'good' : 'failed'}`}>
                  {sink.available ? 'available' : 'unavailable'}
                </span>
              </td>
              <td>{formatCount(sink.written)}</td>
              <td class={sink.available ? undefined : 'nearly'}>{formatCount(sink.queue_depth)}</td>
              <td class={sink.spill_bytes > 0 ? 'nearly' : undefined}>{formatBytes(sink.spill_bytes)}</td>
              <td class={sink.dropped > 0 ? 'alarming' : undefined}>{formatCount(sink.dropped)}</td>
            </tr>
          ))}
        </FiguresTable>
      )}
    </>
  )
}

function State({ level, children }: { level: string; children: string }) {
  return (
    <li class={level}>
      <span class={`dot ${level}`} />
      {children}
    </li>
  )
}

interface TileProps {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly level?: string
}

function Tile({ name, value, note, level = '' }: TileProps) {
  return (
    <div class="card tile">
      <dt>{name}</dt>
      <dd>
        <span class={`tile-value ${level}`}>{value}</span>
        <span class="hint">{note}</span>
      </dd>
    </div>
  )
}
