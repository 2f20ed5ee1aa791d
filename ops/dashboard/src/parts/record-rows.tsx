// Rows of records: the live tail and the list show the same columns.
import type { TrafficSummary } from '../data/api.ts'
import type { RecordColumn } from '../data/columns.ts'
import { formatDateTime, formatText, formatTime } from '../data/format.ts'

/** Pixels of the two columns that are always there, and of one that takes what is left. */
const TIME_WIDTH = { short: 114, dated: 128 }
const STATUS_WIDTH = 58
const FLEXIBLE_WIDTH = 152

interface ColumnsProps {
  readonly columns: readonly RecordColumn[]
  /** With the date, where records of several days are together. */
  readonly isDated?: boolean
}

/** Below this the table scrolls. */
export function widthOf({ columns, isDated = false }: ColumnsProps): string {
  const widths = columns.map(({ width }) => width ?? FLEXIBLE_WIDTH)
  return `${widths.reduce((sum, width) => sum + width, STATUS_WIDTH + (isDated ? TIME_WIDTH.dated : TIME_WIDTH.short))}px`
}

export function RecordColumns({ columns, isDated = false }: ColumnsProps) {
  return (
    <>
      <colgroup>
        <col style={{ width: `${isDated ? TIME_WIDTH.dated : TIME_WIDTH.short}px` }} />
        <col style={{ width: `${STATUS_WIDTH}px` }} />
        {columns.map(({ name, width }) => (
          <col key={name} style={{ width: width === undefined ? undefined : `${width}px` }} />
        ))}
      </colgroup>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Status</th>
          {columns.map(({ name, label, isNumber }) => (
            <th key={name} scope="col" class={isNumber ? 'number' : undefined}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
    </>
  )
}

export interface RecordRowProps extends ColumnsProps {
  /** Absent where a record could not be read. */
  readonly record: TrafficSummary | undefined
  /** Place in the whole table, where only some of its rows are in the page. */
  readonly index?: number
  readonly onOpen: (record: TrafficSummary) => void
  /** Restricts the list to records with the same value. */
  readonly onFilter: (name: string, value: string) => void
}

export function RecordRow({ record, index, columns, isDated = false, onOpen, onFilter }: RecordRowProps) {
  if (record === undefined) {
    return (
      <tr class="record" aria-rowindex={index}>
        <td colSpan={columns.length + 2}>A record that could not be read</td>
      </tr>
    )
  }
  return (
    // The button is for the keyboard; the row only makes its target larger.
    <tr class="record" aria-rowindex={index} onClick={() => onOpen(record)}>
      <td class="column-time">
        <button type="button" class="link" title={formatDateTime(record.created_at)}>
          {isDated
            ? formatDateTime(record.created_at).slice('YYYY-'.length, -'.mmm'.length)
            : formatTime(record.created_at)}
        </button>
      </td>
      <td class="column-status">
        <Status record={record} />
      </td>
      {columns.map(column => (
        <Cell key={column.name} column={column} record={record} onFilter={onFilter} />
      ))}
    </tr>
  )
}

interface CellProps {
  readonly column: RecordColumn
  readonly record: TrafficSummary
  readonly onFilter: RecordRowProps['onFilter']
}

function Cell({ column, record, onFilter }: CellProps) {
  const { name, label, isNumber = false, read } = column
  const filter = column.filter?.(record)
  const text = read(record)
  return (
    <td class={isNumber ? `column-${name} number` : `column-${name}`} title={text}>
      {name === 'request' ? (
        <>
          {/* Nearly every request is a POST. */}
          {record.method !== 'POST' && <span class="method">{formatText(record.method)} </span>}
          {formatText(record.route)}
        </>
      ) : (
        text
      )}
      {filter !== undefined && (
        <button
          type="button"
          class="only"
          // Arrow keys lead to it from the button of the row.
          tabIndex={-1}
          aria-label={`Only ${label.toLowerCase()} ${filter[1]}`}
          title={`Only ${label.toLowerCase()} ${filter[1]}`}
          onClick={event => {
            event.stopPropagation()
            onFilter(...filter)
          }}
        />
      )}
    </td>
  )
}

/** The status with a color for its class; the number itself says it without the color. */
export function Status({ record }: { record: TrafficSummary }) {
  const { status_code: status } = record
  const level = typeof status !== 'number' ? 'none' : status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'good'
  return <span class={`status ${level}`}>{formatText(status)}</span>
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

/**
 * Arrow keys go from one row's first button to the next, so that a table needs one press of Tab, and along the buttons of a row.
 */
export function moveBetweenRows(event: KeyboardEvent): void {
  if (!(event.target instanceof HTMLButtonElement)) return
  const row = event.target.closest('tr')
  const button = findRowButton(row, event.key) ?? findCellButton(row, event.target, event.key)
  if (button == null) return
  event.preventDefault()
  button.focus()
}

function findRowButton(row: HTMLTableRowElement | null, key: string): HTMLButtonElement | null | undefined {
  const step = STEPS[key]
  if (step === undefined) return undefined
  return (step > 0 ? row?.nextElementSibling : row?.previousElementSibling)?.querySelector('button')
}

function findCellButton(row: HTMLTableRowElement | null, from: HTMLButtonElement, key: string) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
  if (step === undefined || row === null) return undefined
  const buttons = [...row.querySelectorAll('button')]
  return buttons[buttons.indexOf(from) + step]
}
