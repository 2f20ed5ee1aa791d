// The model requests that run now, in all workers, the oldest first. They come from memory: none of them has a record yet.
import type { Api, RunningRequest } from '../data/api.ts'
import { formatCount, formatDuration, formatText, formatTime } from '../data/format.ts'
import { FiguresTable } from '../parts/figures-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { usePolled } from '../polled.ts'

const REFRESH_MS = 2_000
const COLUMNS = ['For', 'Since', 'State', 'Protocol', 'Model', 'Caller', 'Key', 'Worker', 'Request id']

const ask = (api: Api, signal: AbortSignal) => api.running(signal)

export function Running() {
  const loaded = usePolled(ask, REFRESH_MS)
  return (
    <section class="view" aria-labelledby="running-title">
      <h2 id="running-title">Running</h2>
      <LoadedView loaded={loaded}>
        {running => (
          <>
            <p class="count">
              {formatCount(running.total)} model requests are running
              {running.data.length < running.total && `; these are the oldest ${formatCount(running.data.length)}`}
              {running.silent_workers > 0 && `; ${formatCount(running.silent_workers)} workers did not answer in time`}.
            </p>
            {running.data.length > 0 && (
              <FiguresTable label="Running requests" columns={COLUMNS} hasTexts>
                {running.data.map(request => (
                  <Row key={request.request_id} request={request} />
                ))}
              </FiguresTable>
            )}
          </>
        )}
      </LoadedView>
    </section>
  )
}

function Row({ request }: { request: RunningRequest }) {
  const { state, streaming } = request
  const key = request.api_key_name ?? request.api_key_hash
  return (
    <tr>
      <th scope="row">{formatDuration(request.running_ms)}</th>
      <td>{formatTime(request.started_at)}</td>
      <td>{state === 'responding' ? (streaming ? 'streaming' : 'responding') : 'waiting'}</td>
      <td>{request.protocol}</td>
      <td>{formatText(request.model_requested ?? request.model_effective)}</td>
      <td>{formatText(request.caller)}</td>
      <td>{formatText(key)}</td>
      <td>{request.worker_id}</td>
      <td>{request.request_id}</td>
    </tr>
  )
}
