// A table of figures that scrolls by itself: one row for each thing, whose name is the first cell.
import type { ComponentChildren } from 'preact'
import { Scroller } from './scroller.tsx'

export interface FiguresTableProps {
  readonly label: string
  readonly columns: readonly string[]
  /** The cells hold texts rather than numbers. */
  readonly hasTexts?: boolean
  /** How many of the first columns hold texts. */
  readonly names?: number
  /** Stands below the table. */
  readonly note?: ComponentChildren
  readonly onKeyDown?: (event: KeyboardEvent) => void
  /** The rows. */
  readonly children: ComponentChildren
}

export function FiguresTable({
  label,
  columns,
  hasTexts = false,
  names = 1,
  note,
  onKeyDown,
  children
}: FiguresTableProps) {
  return (
    <Scroller class="card wide" label={label}>
      <table class={hasTexts ? 'figures texts' : `figures names-${names}`} onKeyDown={onKeyDown}>
        <thead>
          <tr>
            {columns.map(name => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
      {note}
    </Scroller>
  )
}
