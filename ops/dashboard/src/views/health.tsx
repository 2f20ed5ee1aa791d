// The writer of records and its sinks: what was written, what waits, and what was dropped.
import { useEffect, useState } from 'preact/hooks'
import type { Health as HealthFacts } from '../data/api.ts'
import { formatBytes, formatCount } from '../data/format.ts'
import { Notice } from '../parts/notice.tsx'
import { Scroller } from '../parts/scroller.tsx'
import { explainFailure, useSession } from '../session.ts'

const REFRESH_MS = 5_000

const WRITER_TEXTS: Readonly<Record<HealthFacts['writer'], string>> = {
  connected: 'The writer of records is running.',
  disconnected: 'The writer of records is not reachable. It is started again on its own.',
  absent: 'There is no writer: neither records nor a store are configured.'
}

export function Health() {
  const { health, message } = useHealth()
  return (
    <section class="view" aria-labelledby="sinks-title">
      <h2 id="sinks-title">Sinks</h2>
      {message !== undefined && <Notice kind="error">{message}</Notice>}
      {health === undefined ? message === undefined && <p class="empty">Loading…</p> : <HealthView health={health} />}
    </section>
  )
}

/** Asks again some seconds after each answer, while the page is visible. */
function useHealth() {
  const session = useSession()
  const [state, setState] = useState<{ health?: HealthFacts; message?: string }>({})
  useEffect(() => {
    const closing = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    async function load(): Promise<void> {
      try {
        if (!document.hidden) setState({ health: await session.api.health(closing.signal) })
      } catch (error) {
        if (closing.signal.aborted) return
        const message = explainFailure(error, session)
        setState(({ health }) => (health === undefined ? { message } : { health, message }))
      }
      if (!closing.signal.aborted) timer = setTimeout(load, REFRESH_MS)
    }
    void load()
    return () => {
      closing.abort()
      clearTimeout(timer)
    }
  }, [session])
  return state
}

function HealthView({ health: { enabled, query_store, writer, sinks } }: { health: HealthFacts }) {
  return (
    <>
      <ul class="card states">
        <li class={enabled ? 'good' : 'none'}>{enabled ? 'Requests are recorded.' : 'Requests are not recorded.'}</li>
        <li class={writer === 'connected' ? 'good' : 'failed'}>{WRITER_TEXTS[writer]}</li>
        <li class={query_store === null ? 'failed' : 'good'}>
          {query_store === null ? 'No store can be queried.' : `Queries go to ${query_store}.`}
        </li>
      </ul>
      {sinks.length > 0 && (
        <Scroller class="card wide" label="Sinks">
          <table class="figures">
            <thead>
              <tr>
                {['Sink', 'State', 'Written', 'Waiting', 'On disk', 'Dropped'].map(name => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
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
            </tbody>
          </table>
        </Scroller>
      )}
    </>
  )
}
