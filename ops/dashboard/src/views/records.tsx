// The list of stored records with its filters. Pages go by cursor, so they stay the same while new records arrive.
import { useCallback, useEffect, useState } from 'preact/hooks'
import { useNavigation } from '../address.ts'
import { writeAddress } from '../data/address.ts'
import type { Api, TrafficSummary } from '../data/api.ts'
import { readColumns } from '../data/columns.ts'
import { readFilters, writeFilters, writeQuery } from '../data/filters.ts'
import { chooseRefresh, readRange } from '../data/ranges.ts'
import { useLoaded } from '../loaded.ts'
import { ColumnChoice } from '../parts/column-choice.tsx'
import { FilterForm } from '../parts/filter-form.tsx'
import { LatencyStrip } from '../parts/latency-strip.tsx'
import { Notice } from '../parts/notice.tsx'
import { RangeBar } from '../parts/range-bar.tsx'
import { moveBetweenRows, RecordColumns, RecordRow, widthOf } from '../parts/record-rows.tsx'
import { Refresh, readsRefresh } from '../parts/refresh.tsx'
import { Scroller } from '../parts/scroller.tsx'
import { ViewHead } from '../parts/view-head.tsx'
import { explainFailure, useSession } from '../session.ts'
import { Detail } from './detail.tsx'

const PAGE_SIZES = ['50', '100', '500'] as const
/** They are of many records, so a few more change little. */
const LATENCIES_REFRESH_MS = 30_000
const ANY_TIME = [{ name: '', label: 'Any' }] as const

export function Records() {
  const { params, set } = useNavigation()
  const columns = readColumns(params.columns)
  const limit = PAGE_SIZES.find(size => size === params.rows) ?? '100'
  // Cursors of the pages up to this one; the first page has none. They belong to one question.
  const { range, from, to } = params
  const filters = readFilters(params)
  const question = JSON.stringify({ range, from, to, filters, limit })
  const [pages, setPages] = useState<{ question: string; cursors: readonly string[] }>({ question, cursors: [] })
  const cursors = pages.question === question ? pages.cursors : []
  const cursor = cursors.at(-1)
  const ask = useCallback(
    (api: Api, signal: AbortSignal) => {
      const { filters, limit, ...time } = JSON.parse(question)
      return api.list(writeQuery(filters, readRange(time, Date.now()), { limit: Number(limit), cursor }), signal)
    },
    [question, cursor]
  )
  // Rows that move under the reader's hand are for the live view, unless they are asked for, and for the first page.
  const refreshes = readsRefresh(params, false) && cursor === undefined && params.id === undefined
  const everyMs = refreshes ? chooseRefresh(readRange({ ...(range && { range }) }, Date.now())) : undefined
  const { value: page, message, isLoading, atMs, reload } = useLoaded(ask, { everyMs })
  const askLatencies = useCallback(
    (api: Api, signal: AbortSignal) => {
      const { filters, limit: _limit, ...time } = JSON.parse(question)
      return api.latencies(writeFilters(filters, readRange(time, Date.now())), signal)
    },
    [question]
  )
  const latencies = useLoaded(askLatencies, {
    everyMs: everyMs && Math.max(everyMs, LATENCIES_REFRESH_MS),
    keeps: true
  })
  const goTo = (next: readonly string[]) => setPages({ question, cursors: next })
  const open = (record: TrafficSummary) => set({ id: record.id })
  return (
    <section class="view" aria-labelledby="records-title">
      <ViewHead name="records" title="Records">
        <RangeBar fallback="" more={ANY_TIME} />
        <ColumnChoice />
        <Refresh atMs={atMs} isLoading={isLoading} onRefresh={reload} isOn={false} />
      </ViewHead>
      <FilterForm
        onSearch={() => {
          reload()
          latencies.reload()
        }}
      />
      {message !== undefined && <Notice kind="error">{message}</Notice>}
      <LatencyStrip
        latencies={latencies.value}
        linkTo={fromMs =>
          writeAddress('records', {
            ...params,
            min_latency_ms: fromMs === 0 ? undefined : String(fromMs),
            id: undefined
          })
        }
      />
      <Scroller class="card scroller" label="Found records" isBusy={isLoading}>
        <table
          class="records dated"
          style={{ '--width': widthOf({ columns, isDated: true }) }}
          onKeyDown={moveBetweenRows}
        >
          <RecordColumns columns={columns} isDated />
          <tbody>
            {page?.data.map(record => (
              <RecordRow
                key={record.id}
                record={record}
                columns={columns}
                isDated
                onOpen={open}
                onFilter={(name, value) => set({ [name]: value })}
              />
            ))}
          </tbody>
        </table>
        {page === undefined && message === undefined && <p class="empty">Loading…</p>}
        {page?.data.length === 0 && <p class="empty">No record matches.</p>}
      </Scroller>
      <div class="tools pages">
        <button type="button" disabled={cursors.length === 0} onClick={() => goTo(cursors.slice(0, -1))}>
          Newer
        </button>
        <p class="count">
          Page {cursors.length + 1}
          {page !== undefined && `, ${page.data.length} of ${page.total} records`}
        </p>
        <button
          type="button"
          disabled={page?.next_cursor == null}
          onClick={() => page?.next_cursor && goTo([...cursors, page.next_cursor])}
        >
          Older
        </button>
        <label class="inline">
          <span>Rows</span>
          <select value={limit} onChange={event => set({ rows: event.currentTarget.value })}>
            {PAGE_SIZES.map(size => (
              <option key={size}>{size}</option>
            ))}
          </select>
        </label>
      </div>
      {params.id !== undefined && <OpenRecord id={params.id} list={page?.data ?? []} />}
    </section>
  )
}

/** The record that the address names: of the list, or asked for where the address came from another reader. */
function OpenRecord({ id, list }: { id: string; list: readonly TrafficSummary[] }) {
  const { set } = useNavigation()
  const session = useSession()
  const listed = list.find(record => record.id === id)
  const [found, setFound] = useState<{ record?: TrafficSummary; message?: string }>({})
  const record = listed ?? (found.record?.id === id ? found.record : undefined)
  const isMissing = record === undefined
  useEffect(() => {
    if (!isMissing) return
    const closing = new AbortController()
    session.api.find(id, closing.signal).then(
      record => setFound({ record }),
      (error: unknown) => {
        if (!closing.signal.aborted) setFound({ message: explainFailure(error, session) })
      }
    )
    return () => closing.abort()
  }, [id, isMissing, session])
  if (record === undefined) return found.message === undefined ? null : <Notice kind="error">{found.message}</Notice>
  const place = list.indexOf(record)
  const [newer, older] = place < 0 ? [] : [list[place - 1], list[place + 1]]
  const close = () => set({ id: undefined })
  const goTo = (other: TrafficSummary | undefined) => (other === undefined ? undefined : () => set({ id: other.id }))
  return <Detail key={id} record={record} onClose={close} onNewer={goTo(newer)} onOlder={goTo(older)} />
}
