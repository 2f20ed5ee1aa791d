// The writer of records and its sinks: what was written, what waits, and what was dropped.
import type { Api, Health as HealthFacts } from '../data/api.ts'
import { formatBytes, formatCount, formatDateTime } from '../data/format.ts'
import { FiguresTable } from '../parts/figures-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { usePolled } from '../polled.ts'

const REFRESH_MS = 5_000
const COLUMNS = ['Sink', 'State', 'Written', 'Waiting', 'On disk', 'Dropped']

const WRITER_TEXTS: Readonly<Record<HealthFacts['writer'], string>> = {
  connected: 'The writer of records is running.',
  disconnected: 'The writer of records is not reachable. It is started again on its own.',
  absent: 'There is no writer: neither records nor a store are configured.'
}

export function Health() {
  const loaded = usePolled(ask, REFRESH_MS)
  return (
    <section class="view" aria-labelledby="sinks-title">
      <h2 id="sinks-title">Sinks</h2>
      <LoadedView loaded={loaded}>{health => <HealthView health={health} />}</LoadedView>
    </section>
  )
}

const ask = (api: Api, signal: AbortSignal) => api.health(signal)

function describeStore({ records_estimate, oldest_record, bytes, wal_bytes }: NonNullable<HealthFacts['store']>) {
  if (oldest_record === null) return 'It has no record yet.'
  const log = wal_bytes === null ? '' : `, and ${formatBytes(wal_bytes)} of write-ahead log`
  return `It has about ${formatCount(records_estimate)} records since ${formatDateTime(oldest_record)} in ${formatBytes(bytes)}${log}.`
}

function HealthView({ health: { enabled, query_store, writer, sinks, store } }: { health: HealthFacts }) {
  return (
    <>
      <ul class="card states">
        <li class={enabled ? 'good' : 'none'}>{enabled ? 'Requests are recorded.' : 'Requests are not recorded.'}</li>
        <li class={writer === 'connected' ? 'good' : 'failed'}>{WRITER_TEXTS[writer]}</li>
        <li class={query_store === null ? 'failed' : 'good'}>
          {query_store === null ? 'No store can be queried.' : `Queries go to ${query_store}.`}
        </li>
        {query_store !== null && (
          <li class={store === null ? 'failed' : 'good'}>
            {store === null ? 'The store does not answer.' : describeStore(store)}
          </li>
        )}
      </ul>
      {sinks.length > 0 && (
        <FiguresTable label="Sinks" columns={COLUMNS}>
          {sinks.map(sink => (
            <tr key={sink.name}>
              <th scope="row">{sink.name}</th>
              <td>
                <span class={`status ${sink.available ? 'good' : 'failed'}`}>
                  {sink.available ? 'available' : 'unavailable'}
                </span>
              </td>
              <td>{formatCount(sink.written)}</td>
              <td>{formatCount(sink.queue_depth)}</td>
              <td>{formatBytes(sink.spill_bytes)}</td>
              <td class={sink.dropped > 0 ? 'alarming' : undefined}>{formatCount(sink.dropped)}</td>
            </tr>
          ))}
        </FiguresTable>
      )}
    </>
  )
}
