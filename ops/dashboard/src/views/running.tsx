// The model requests that run now, in all workers, the oldest first. They come from memory: none of them has a record yet.
import { useNavigation } from '../address.ts'
import { writeAddress } from '../data/address.ts'
import type { Api, Running as RunningFacts, RunningRequest } from '../data/api.ts'
import { formatCount, formatDuration, formatText, formatTime } from '../data/format.ts'
import { useLoaded } from '../loaded.ts'
import { FiguresTable } from '../parts/figures-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { Refresh, readsRefresh } from '../parts/refresh.tsx'
import { ViewHead } from '../parts/view-head.tsx'

const REFRESH_MS = 2_000
/** A request that has not ended by then deserves a look. */
const LONG_MS = 60_000
const COLUMNS = ['For', 'State', 'Model', 'Key', 'Caller', 'Protocol', 'Since', 'Worker', 'Request id']

const ask = (api: Api, signal: AbortSignal) => api.running(signal)

export function Running() {
  const { params } = useNavigation()
  const loaded = useLoaded(ask, { everyMs: readsRefresh(params) ? REFRESH_MS : undefined })
  return (
    <section class="view" aria-labelledby="running-title">
      <ViewHead name="running" title="Running" note={loaded.value && describe(loaded.value)}>
        <Refresh atMs={loaded.atMs} isLoading={false} onRefresh={loaded.reload} />
      </ViewHead>
      <LoadedView loaded={loaded}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="card empty">No model request runs at the moment.</p>
          ) : (
            <FiguresTable label="Running requests" columns={COLUMNS} hasTexts>
              {data.map(request => (
                <Row key={request.request_id} request={request} />
              ))}
            </FiguresTable>
          )
        }
      </LoadedView>
    </section>
  )
}

function describe({ data, total, silent_workers: silent }: RunningFacts): string {
  const cut = data.length < total ? `; these are the oldest ${formatCount(data.length)}` : ''
  const missing = silent > 0 ? `; ${formatCount(silent)} workers did not answer in time` : ''
  return `${formatCount(total)} model requests are running${cut}${missing}.`
}

function Row({ request }: { request: RunningRequest }) {
  const { state, streaming, api_key_name: key, running_ms: runningMs } = request
  const model = request.model_requested ?? request.model_effective
  return (
    <tr>
      <th scope="row" class={runningMs >= LONG_MS ? 'nearly' : undefined}>
        {formatDuration(runningMs)}
      </th>
      <td>
        <span class={`status ${state === 'responding' ? 'good' : 'none'}`}>
          {state === 'responding' ? (streaming ? 'streaming' : 'responding') : 'waiting'}
        </span>
      </td>
      <td>{model === null ? formatText(null) : <a href={writeAddress('records', { model })}>{model}</a>}</td>
      <td>{key === null ? formatText(request.api_key_hash) : <a href={writeAddress('records', { key })}>{key}</a>}</td>
      <td>{formatText(request.caller)}</td>
      <td>{request.protocol}</td>
      <td>{formatTime(request.started_at)}</td>
      <td>{request.worker_id}</td>
      <td>
        <code>{request.request_id}</code>
      </td>
    </tr>
  )
}
