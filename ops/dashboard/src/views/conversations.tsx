// The stored conversations of Responses, the one that was used last first, and the turns of the one that is opened. Shown only where
// responses are stored.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Api, Thread } from '../data/api.ts'
import { describeItem } from '../data/describe-item.ts'
import { formatBytes, formatCount, formatDateTime, formatText } from '../data/format.ts'
import { useLoaded } from '../loaded.ts'
import { FiguresTable } from '../parts/figures-table.tsx'
import { Notice } from '../parts/notice.tsx'
import { moveBetweenRows } from '../parts/record-rows.tsx'

const COLUMNS = ['Last use', 'Owner', 'Model', 'Turns', 'Size', 'Begun', 'Id']

export function Conversations() {
  /** Cursors of the pages up to this one; the first page has none. */
  const [cursors, setCursors] = useState<readonly string[]>([])
  const [opened, setOpened] = useState<Thread>()
  const ask = useCallback((api: Api, signal: AbortSignal) => api.threads(cursors.at(-1), signal), [cursors])
  const { value: page, message } = useLoaded(ask)
  return (
    <section class="view" aria-labelledby="conversations-title">
      <h2 id="conversations-title">Conversations</h2>
      {message !== undefined && <Notice kind="error">{message}</Notice>}
      {page === undefined && message === undefined && <p class="empty">Loading…</p>}
      {page?.data.length === 0 && <p class="empty">No response is stored.</p>}
      {page !== undefined && page.data.length > 0 && (
        <FiguresTable label="Conversations" columns={COLUMNS} hasTexts onKeyDown={moveBetweenRows}>
          {page.data.map(thread => (
            <Row key={thread.id} thread={thread} onOpen={setOpened} />
          ))}
        </FiguresTable>
      )}
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
      {opened !== undefined && <Turns thread={opened} onClose={() => setOpened(undefined)} />}
    </section>
  )
}

function Row({ thread, onOpen }: { thread: Thread; onOpen: (thread: Thread) => void }) {
  return (
    <tr>
      <th scope="row">
        <button type="button" class="link" onClick={() => onOpen(thread)}>
          {formatDateTime(thread.updated_at)}
        </button>
      </th>
      <td>{formatText(thread.owner)}</td>
      <td>{formatText(thread.model)}</td>
      <td>{formatCount(thread.turns)}</td>
      <td>{formatBytes(thread.bytes)}</td>
      <td>{formatDateTime(thread.created_at)}</td>
      <td>{thread.id}</td>
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
      <div class="tools">
        <h3 id="turns-title">{thread.id}</h3>
        <button type="button" class="close" onClick={() => dialog.current?.close()}>
          Close
        </button>
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
