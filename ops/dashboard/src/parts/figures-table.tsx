// A table of figures that scrolls by itself: one row for each thing, whose name is the first cell and stays in sight.
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Scroller } from './scroller.tsx'

export interface FiguresTableProps {
  readonly label: string
  /** Shown above the table. */
  readonly title?: string
  readonly columns: readonly string[]
  /** All cells hold texts rather than numbers. */
  readonly hasTexts?: boolean
  /** Columns that hold texts. */
  readonly texts?: readonly string[]
  /** How many of the first columns hold texts. */
  readonly names?: number
  /** Stands below the table. */
  readonly note?: ComponentChildren
  /** Without a frame, inside another one. */
  readonly isBare?: boolean
  readonly onKeyDown?: (event: KeyboardEvent) => void
  /** The rows. */
  readonly children: ComponentChildren
}

export function FiguresTable(props: FiguresTableProps) {
  const { label, title, columns, hasTexts = false, texts = [], names = 1, note, isBare = false, onKeyDown } = props
  const id = useId()
  const isText = (name: string, index: number) => hasTexts || index < names || texts.includes(name)
  return (
    <div class={isBare ? 'figures-block' : 'card figures-block'}>
      {title !== undefined && (
        <h3 class="block-title" id={id}>
          {title}
        </h3>
      )}
      <Scroller class="wide" label={label}>
        <table class="figures" onKeyDown={onKeyDown} onPointerOver={nameCutCell}>
          <colgroup>
            {columns.map((name, index) => (
              <col key={name} class={isText(name, index) ? 'text' : 'figure'} />
            ))}
          </colgroup>
          <thead>
            <tr>
              {columns.map((name, index) => (
                <th key={name} scope="col" class={isText(name, index) ? 'text' : undefined}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody class={textClass(columns, isText)}>{props.children}</tbody>
        </table>
      </Scroller>
      {note && <p class="hint block-note">{note}</p>}
    </div>
  )
}

/** A cell whose text is cut says the whole one at the pointer. */
function nameCutCell({ target }: PointerEvent): void {
  const cell = target instanceof Element ? target.closest<HTMLElement>('th, td') : null
  if (cell !== null && cell.title === '' && cell.scrollWidth > cell.clientWidth) cell.title = cell.innerText
}

/** The places of columns with texts, which the style sheet aligns to the left. */
function textClass(columns: readonly string[], isText: (name: string, index: number) => boolean): string {
  return columns
    .map((name, index) => (isText(name, index) ? `text-${index + 1}` : ''))
    .join(' ')
    .trim()
}
