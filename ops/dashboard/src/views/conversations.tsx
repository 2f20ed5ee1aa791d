// The stored conversations of Responses, the one that was used last first, and the turns of the one that is opened. Shown only where
// responses are stored.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { useNavigation } from '../address.ts'
import { writeAddress } from '../data/address.ts'
import type { Api, Thread } from '../data/api.ts'
import { describeItem } from '../data/describe-item.ts'
import { formatBytes, formatCount, formatDateTime, formatMinute, formatText } from '../data/format.ts'
import { useLoaded } from '../loaded.ts'
import { FiguresTable } from '../parts/figures-table.tsx'
import { Notice } from '../parts/notice.tsx'
import { moveBetweenRows } from '../parts/record-rows.tsx'
import { Refresh, readsRefresh } from '../parts/refresh.tsx'
import { ViewHead } from '../parts/view-head.tsx'

const COLUMNS = ['Last use', 'Kind', 'Key', 'Model', 'Turns', 'Size', 'Begun', 'Id']
const REFRESH_MS = 15_000

export function Conversations() {
  const { params, set } = useNavigation()
  /** Cursors of the pages up to this one; the first page has none. */
  const [cursors, setCursors] = useState<readonly string[]>([])
  const cursor = cursors.at(-1)
  const ask = useCallback((api: Api, signal: AbortSignal) => api.threads(cursor, signal), [cursor])
  // Off at first: each list is audited.
  const refreshes = readsRefresh(params, false) && cursor === undefined && params.id === undefined
  const loaded = useLoaded(ask, { everyMs: refreshes ? REFRESH_MS : undefined })
  const { value: page, message, atMs, isLoading, reload } = loaded
  const opened = page?.data.find(({ id }) => id === params.id)
  return (
    <section class="view" aria-labelledby="conversations-title">
      <ViewHead name="conversations" title="Conversations">
        <Refresh atMs={atMs} isLoading={isLoading} onRefresh={reload} isOn={false} />
      </ViewHead>
      {message !== undefined && <Notice kind="error">{message}</Notice>}
      {page === undefined && message === undefined && <p class="empty">Loading…</p>}
      {page?.data.length === 0 && <p class="card empty">No response is stored.</p>}
      {page !== undefined && page.data.length > 0 && (
        <FiguresTable
          label="Conversations"
          columns={COLUMNS}
          texts={['Kind', 'Key', 'Model', 'Begun', 'Id']}
          onKeyDown={moveBetweenRows}
        >
          {page.data.map(thread => (
            <Row key={thread.id} thread={thread} onOpen={({ id }) => set({ id })} />
          ))}
        </FiguresTable>
      )}
      {(cursors.length > 0 || page?.next_cursor != null) && (
        <div class="tools pages">
          <button type="button" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
            Newer
          </button>
          <p class="count">Page {cursors.length + 1}</p>
          <button
            type="button"
            disabled={page?.next_cursor == null}
            onClick={() => page?.next_cursor && setCursors([...cursors, page.next_cursor])}
          >
            Older
          </button>
        </div>
      )}
      {opened !== undefined && <Turns thread={opened} onClose={() => set({ id: undefined })} />}
    </section>
  )
}

function Row({ thread, onOpen }: { thread: Thread; onOpen: (thread: Thread) => void }) {
  return (
    <tr>
      <th scope="row">
        <button type="button" class="link" onClick={() => onOpen(thread)}>
          {formatMinute(thread.updated_at)}
        </button>
      </th>
      <td class="faint">{thread.kind}</td>
      <td>
        {thread.owner === '' ? (
          formatText(null)
        ) : (
          <a href={writeAddress('records', { key: thread.owner })}>{thread.owner}</a>
        )}
      </td>
      <td>{formatText(thread.model)}</td>
      <td>{formatCount(thread.turns)}</td>
      <td>{formatBytes(thread.bytes)}</td>
      <td>{formatMinute(thread.created_at)}</td>
      <td>
        <code>{thread.id}</code>
      </td>
    </tr>
  )
}

function Turns({ thread, onClose }: { thread: Thread; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const ask = useCallback((api: Api, signal: AbortSignal) => api.thread(thread.id, signal), [thread])
  const { value: turns, message } = useLoaded(ask)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog class="detail" ref={dialog} onClose={onClose} aria-labelledby="turns-title">
      <div class="detail-head">
        <h3 id="turns-title">{thread.id}</h3>
        <div class="detail-tools">
          <button type="button" class="close" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
      </div>
      <p class="hint">
        {formatText(thread.owner)}, {formatCount(thread.turns)} turns, {formatBytes(thread.bytes)}
      </p>
      {message !== undefined && <Notice kind="error">{message}</Notice>}
      {turns === undefined && message === undefined && <p class="empty">Loading…</p>}
      {turns?.data.map(turn => (
        <section key={turn.id} class="part" aria-label={turn.id}>
          <h4>
            {formatDateTime(turn.created_at)}, {formatText(turn.model)}, {formatText(turn.status)}
          </h4>
          <p class="hint">
            {turn.id}
            {turn.previous_response_id !== null && `, continues ${turn.previous_response_id}`}
          </p>
          <dl class="items">
            {[...turn.input, ...turn.output].map((item, index) => {
              const { who, text } = describeItem(item)
              return (
                <div key={index}>
                  <dt>{who}</dt>
                  <dd>{text}</dd>
                </div>
              )
            })}
          </dl>
        </section>
      ))}
      {turns?.has_more && <p class="hint">The thread has more turns than these {formatCount(turns.data.length)}.</p>}
    </dialog>
  )
}
