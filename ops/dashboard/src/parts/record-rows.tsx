// Rows of records: the live tail and the list show the same columns.
import type { TrafficSummary } from '../../../../shared/traffic/query.ts'
import { formatCount, formatDateTime, formatDuration, formatText, formatTime, UNKNOWN } from '../data/format.ts'

export const COLUMNS = ['Time', 'Request', 'Model', 'Key', 'Status', 'Latency', 'Tokens', 'Error'] as const

export function RecordColumns() {
  return (
    <thead>
      <tr>
        {COLUMNS.map(name => (
          <th key={name} scope="col" class={`column-${name.toLowerCase()}`}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}

export interface RecordRowProps {
  /** Absent where a record could not be read. */
  readonly record: TrafficSummary | undefined
  /** Place in the whole table, where only some of its rows are in the page. */
  readonly index?: number
  /** With the date, where records of several days are together. */
  readonly isDated?: boolean
  readonly onOpen: (record: TrafficSummary) => void
}

export function RecordRow({ record, index, isDated = false, onOpen }: RecordRowProps) {
  if (record === undefined) {
    return (
      <tr class="record" aria-rowindex={index}>
        <td colSpan={COLUMNS.length}>A record that could not be read</td>
      </tr>
    )
  }
  return (
    // The button is for the keyboard; the row only makes its target larger.
    <tr class="record" aria-rowindex={index} onClick={() => onOpen(record)}>
      <td class="column-time">
        <button type="button" class="link" title={formatDateTime(record.created_at)}>
          {isDated ? formatDateTime(record.created_at) : formatTime(record.created_at)}
        </button>
      </td>
      <td class="column-request">
        <span class="method">{formatText(record.method)}</span> {formatText(record.route)}
      </td>
      <td class="column-model">{formatText(record.model_requested ?? record.model_effective)}</td>
      <td class="column-key">{formatText(record.api_key_name)}</td>
      <td class="column-status">
        <Status record={record} />
      </td>
      <td class="column-latency">{formatDuration(record.latency_ms)}</td>
      <td class="column-tokens">{describeTokens(record)}</td>
      <td class="column-error">{record.error_type === null ? '' : formatText(record.error_type)}</td>
    </tr>
  )
}

/** The status with a color for its class; the number itself says it without the color. */
export function Status({ record }: { record: TrafficSummary }) {
  const { status_code: status } = record
  const level = typeof status !== 'number' ? 'none' : status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'good'
  return <span class={`status ${level}`}>{formatText(status)}</span>
}

function describeTokens({ input_tokens: input, output_tokens: output }: TrafficSummary): string {
  if (typeof input !== 'number' && typeof output !== 'number') return UNKNOWN
  return `${formatCount(input)} → ${formatCount(output)}`
}

/** Arrow keys go from one row's button to the next, so that a table needs one press of Tab. */
export function moveBetweenRows(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined || !(event.target instanceof HTMLButtonElement)) return
  const row = event.target.closest('tr')
  const next = step > 0 ? row?.nextElementSibling : row?.previousElementSibling
  const button = next?.querySelector('button')
  if (button == null) return
  event.preventDefault()
  button.focus()
}
