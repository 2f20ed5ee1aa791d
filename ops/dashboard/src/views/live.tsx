// The live tail. Records are counted and kept outside of the component; the page draws once for each frame, and only the rows in sight.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { useNavigation } from '../address.ts'
import type { TrafficSummary } from '../data/api.ts'
import { readColumns } from '../data/columns.ts'
import { formatCount } from '../data/format.ts'
import { createTailBuffer } from '../data/tail-buffer.ts'
import { followTail, type TailState } from '../data/tail-feed.ts'
import { ColumnChoice } from '../parts/column-choice.tsx'
import { Notice } from '../parts/notice.tsx'
import { moveBetweenRows, RecordColumns, RecordRow, widthOf } from '../parts/record-rows.tsx'
import { Scroller } from '../parts/scroller.tsx'
import { ViewHead } from '../parts/view-head.tsx'
import { explainFailure, useSession } from '../session.ts'
import { Detail } from './detail.tsx'

const ROWS_MAX = 1000
/** As the style sheet has it: a row of a narrow screen has two lines. */
const ROW_HEIGHTS = { wide: 30, narrow: 58 }
const NARROW = '(max-width: 640px)'
/** Rows outside of the visible part, so that scrolling and the arrow keys find them. */
const ROWS_AROUND = 8

export function Live() {
  const { params, go } = useNavigation()
  const columns = readColumns(params.columns)
  const tail = useTail()
  const { shown, isPaused, waiting } = tail
  const [opened, setOpened] = useState<TrafficSummary>()
  const scroller = useRef<HTMLElement>(null)
  const [sight, setSight] = useState({ top: 0, height: 600 })
  const measure = useCallback(() => {
    const element = scroller.current
    if (element !== null) setSight({ top: element.scrollTop, height: element.clientHeight })
  }, [])
  useEffect(() => {
    const resizing = new ResizeObserver(measure)
    if (scroller.current !== null) resizing.observe(scroller.current)
    return () => resizing.disconnect()
  }, [measure])

  // Read with each drawing: a turned screen measures the scroller again.
  const rowHeight = matchMedia(NARROW).matches ? ROW_HEIGHTS.narrow : ROW_HEIGHTS.wide
  const first = Math.max(0, Math.floor(sight.top / rowHeight) - ROWS_AROUND)
  const last = Math.min(shown.size, Math.ceil((sight.top + sight.height) / rowHeight) + ROWS_AROUND)
  const places = Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index)
  return (
    <section class="view" aria-labelledby="live-title">
      <ViewHead
        name="live"
        title="Live"
        note={
          <span data-testid="received">
            {formatCount(tail.received)} received
            {waiting > 0 && `, ${formatCount(waiting)} since the pause`}
            {tail.skipped > 0 && `, ${formatCount(tail.skipped)} left out`}
          </span>
        }
      >
        <TailStatus state={tail.state} isPaused={isPaused} />
        <ColumnChoice />
        <button type="button" aria-pressed={isPaused} onClick={tail.togglePause}>
          {isPaused ? 'Resume' : 'Pause'}
        </button>
        <button type="button" onClick={tail.clear} disabled={tail.received === 0}>
          Clear
        </button>
      </ViewHead>
      <Scroller class="card scroller" label="Newest records" element={scroller} onScroll={measure}>
        <table
          class="records"
          style={{ '--width': widthOf({ columns }) }}
          aria-rowcount={shown.size + 1}
          onKeyDown={moveBetweenRows}
        >
          <RecordColumns columns={columns} />
          <tbody>
            <Spacer height={first * rowHeight} />
            {places.map(place => (
              <RecordRow
                key={shown.keyAt(place)}
                record={shown.at(place)}
                index={place + 2}
                columns={columns}
                onOpen={setOpened}
                onFilter={(name, value) => go('records', { [name]: value, columns: params.columns })}
              />
            ))}
            <Spacer height={(shown.size - last) * rowHeight} />
          </tbody>
        </table>
        {shown.size === 0 && <p class="empty">No requests yet. They appear here when they end.</p>}
      </Scroller>
      {opened !== undefined && <Detail record={opened} onClose={() => setOpened(undefined)} />}
    </section>
  )
}

/** In place of the rows that are out of sight. */
function Spacer({ height }: { height: number }) {
  if (height <= 0) return null
  return (
    <tr>
      <td class="spacer" colSpan={2} style={{ height: `${height}px` }} />
    </tr>
  )
}

function TailStatus({ state, isPaused }: { state: TailState; isPaused: boolean }) {
  if (state.kind === 'waiting') return <Notice kind="error">{state.message} Trying again.</Notice>
  const text = state.kind === 'live' ? (isPaused ? 'paused' : 'live') : 'connecting'
  return (
    <p class={`tail-state ${text}`} role="status">
      {text}
    </p>
  )
}

/** The tail of this session, from the first to the last time that the view is shown. */
function useTail() {
  const session = useSession()
  const [state, setState] = useState<TailState>({ kind: 'connecting' })
  const [isPaused, setPaused] = useState(false)
  const [, setFrame] = useState(0)
  // While the tail is paused, records wait in the second buffer and what is shown stays as it is.
  const buffers = useRef({ shown: createTailBuffer(ROWS_MAX), waiting: createTailBuffer(ROWS_MAX), isPaused: false })
  const frame = useRef(0)
  const skipped = useRef(0)

  const draw = useCallback(() => {
    if (frame.current !== 0) return
    frame.current = requestAnimationFrame(() => {
      frame.current = 0
      setFrame(count => count + 1)
    })
  }, [])

  useEffect(() => {
    const closing = new AbortController()
    void followTail({
      api: session.api,
      signal: closing.signal,
      page: document,
      onRecord(text) {
        const { shown, waiting, isPaused } = buffers.current
        if (isPaused) waiting.add(text)
        else shown.add(text)
        draw()
      },
      onSkipped(count) {
        skipped.current += count
        draw()
      },
      onState(next) {
        setState(next)
        if (next.kind === 'refused') explainFailure(next.error, session)
      }
    })
    return () => {
      closing.abort()
      cancelAnimationFrame(frame.current)
      frame.current = 0
    }
  }, [session, draw])

  function togglePause(): void {
    const { current } = buffers
    current.isPaused = !current.isPaused
    if (!current.isPaused) {
      current.shown.append(current.waiting)
      current.waiting.clear()
    }
    setPaused(current.isPaused)
  }

  function clear(): void {
    buffers.current.shown.clear()
    buffers.current.waiting.clear()
    skipped.current = 0
    draw()
  }

  const { shown, waiting } = buffers.current
  return {
    state,
    shown,
    isPaused,
    received: shown.received + waiting.received,
    waiting: waiting.received,
    skipped: skipped.current,
    togglePause,
    clear
  }
}
