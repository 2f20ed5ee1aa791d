// The list of stored records with its filters. Pages go by cursor, so they stay the same while new records arrive.
import { useCallback, useRef, useState } from 'preact/hooks'
import type { TrafficSummary } from '../../../../shared/traffic/query.ts'
import type { Api } from '../data/api.ts'
import { FILTER_FIELDS, type FilterField, type FilterValues, readAddress, writeQuery } from '../data/filters.ts'
import { useLoaded } from '../loaded.ts'
import { Notice } from '../parts/notice.tsx'
import { moveBetweenRows, RecordColumns, RecordRow } from '../parts/record-rows.tsx'
import { Scroller } from '../parts/scroller.tsx'
import { Detail } from './detail.tsx'

const PAGE_SIZES = ['50', '100', '500'] as const

interface Question {
  readonly values: FilterValues
  readonly limit: number
  /** Cursors of the pages up to this one; the first page has none. */
  readonly cursors: readonly string[]
}

export function Records() {
  const [given] = useState(() => readAddress(location.hash))
  const [question, setQuestion] = useState<Question>({ values: given, limit: 100, cursors: [] })
  const ask = useCallback(
    (api: Api, signal: AbortSignal) => {
      const { values, limit, cursors } = question
      return api.list(writeQuery(values, { limit, cursor: cursors.at(-1) }), signal)
    },
    [question]
  )
  const { value: page, message } = useLoaded(ask)
  const isLoading = page === undefined && message === undefined
  const [opened, setOpened] = useState<TrafficSummary>()
  const { cursors } = question
  return (
    <section class="view" aria-labelledby="records-title">
      <h2 id="records-title">Records</h2>
      <Filters given={given} onSearch={(values, limit) => setQuestion({ values, limit, cursors: [] })} />
      {message !== undefined && <Notice kind="error">{message}</Notice>}
      <Scroller class="card scroller" label="Found records" isBusy={isLoading}>
        <table class="records dated" onKeyDown={moveBetweenRows}>
          <RecordColumns />
          <tbody>
            {page?.data.map(record => (
              <RecordRow key={record.id} record={record} isDated onOpen={setOpened} />
            ))}
          </tbody>
        </table>
        {isLoading && <p class="empty">Loading…</p>}
        {page?.data.length === 0 && <p class="empty">No record matches.</p>}
      </Scroller>
      <div class="tools pages">
        <button
          type="button"
          disabled={cursors.length === 0}
          onClick={() => setQuestion({ ...question, cursors: cursors.slice(0, -1) })}
        >
          Newer
        </button>
        <p class="count">
          Page {cursors.length + 1}
          {page !== undefined && `, ${page.data.length} of ${page.total} records`}
        </p>
        <button
          type="button"
          disabled={page?.next_cursor == null}
          onClick={() => page?.next_cursor && setQuestion({ ...question, cursors: [...cursors, page.next_cursor] })}
        >
          Older
        </button>
      </div>
      {opened !== undefined && <Detail record={opened} onClose={() => setOpened(undefined)} />}
    </section>
  )
}

interface FiltersProps {
  /** What the fields hold at first. */
  readonly given: FilterValues
  readonly onSearch: (values: FilterValues, limit: number) => void
}

function Filters({ given, onSearch }: FiltersProps) {
  const form = useRef<HTMLFormElement>(null)
  function search(event?: Event): void {
    event?.preventDefault()
    if (form.current === null) return
    const values = Object.fromEntries([...new FormData(form.current)].map(([name, value]) => [name, String(value)]))
    onSearch(values, Number(values.limit))
  }
  function clear(): void {
    for (const field of form.current?.elements ?? []) {
      if (field instanceof HTMLInputElement) field.value = ''
      if (field instanceof HTMLSelectElement) field.selectedIndex = field.name === 'limit' ? field.selectedIndex : 0
    }
    search()
  }
  const fields: readonly FilterField[] = FILTER_FIELDS
  return (
    <form class="card filters" ref={form} onSubmit={search} aria-label="Filters">
      <div class="fields">
        {fields
          .filter(({ isRare }) => isRare !== true)
          .map(field => (
            <Field key={field.name} field={field} given={given[field.name]} />
          ))}
      </div>
      <details>
        <summary>More filters</summary>
        <div class="fields">
          {fields
            .filter(({ isRare }) => isRare === true)
            .map(field => (
              <Field key={field.name} field={field} given={given[field.name]} />
            ))}
        </div>
      </details>
      <div class="tools">
        <button type="submit" class="primary">
          Search
        </button>
        <button type="button" onClick={clear}>
          Clear
        </button>
        <label class="inline">
          <span>Rows</span>
          <select name="limit">
            {PAGE_SIZES.map(size => (
              <option key={size} selected={size === '100'}>
                {size}
              </option>
            ))}
          </select>
        </label>
      </div>
    </form>
  )
}

const OUTCOMES = [
  { value: '', title: 'any' },
  { value: 'false', title: 'succeeded' },
  { value: 'true', title: 'failed' }
] as const

const INPUT_TYPES = { text: 'text', number: 'number', datetime: 'datetime-local' } as const

function Field({ field, given }: { field: FilterField; given: string | undefined }) {
  const { name, label, kind, choices } = field
  return (
    <div class="field">
      <label for={`filter-${name}`}>{label}</label>
      {kind === 'outcome' ? (
        <select id={`filter-${name}`} name={name}>
          {OUTCOMES.map(({ value, title }) => (
            <option key={value} value={value} selected={value === (given ?? '')}>
              {title}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={`filter-${name}`}
          name={name}
          type={INPUT_TYPES[kind]}
          list={choices && `choices-${name}`}
          defaultValue={given}
          spellcheck={false}
          autocomplete="off"
        />
      )}
      {choices && (
        <datalist id={`choices-${name}`}>
          {choices.map(choice => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </div>
  )
}
