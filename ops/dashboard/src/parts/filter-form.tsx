// The filter of the list of records: a form, and the filters that hold, each with a button that removes it.
import { useRef, useState } from 'preact/hooks'
import { type ParamChanges, useNavigation } from '../address.ts'
import { describeFilters, FILTER_FIELDS, type FilterField, NO_FILTERS, readFilters } from '../data/filters.ts'

const fields: readonly FilterField[] = FILTER_FIELDS

export function FilterForm({ onSearch }: { onSearch: () => void }) {
  const { params, set } = useNavigation()
  const form = useRef<HTMLFormElement>(null)
  const filters = readFilters(params)
  const held = describeFilters(filters)
  const [showsRare, setShowsRare] = useState(false)
  const hasRare = showsRare || fields.some(({ name, isRare }) => isRare === true && filters[name] !== undefined)
  const change = (changes: ParamChanges) => set({ ...changes, cursor: undefined })
  function search(event: Event): void {
    event.preventDefault()
    if (form.current === null) return
    const values = [...new FormData(form.current)].map(([name, value]) => [name, String(value).trim() || undefined])
    change(Object.fromEntries(values))
    // The same question is a new one as well: records have arrived meanwhile.
    onSearch()
  }
  return (
    // Fields begin anew with what the address says.
    <form
      class={hasRare ? 'card filters open' : 'card filters'}
      ref={form}
      key={JSON.stringify(filters)}
      onSubmit={search}
      onChange={event => event.target instanceof HTMLSelectElement && search(event)}
      aria-label="Filters"
    >
      <div class="fields">
        {fields
          .filter(({ isRare }) => isRare !== true)
          .map(field => (
            <Field key={field.name} field={field} given={filters[field.name]} />
          ))}
        <div class="tools form-buttons">
          <button type="submit" class="primary">
            Search
          </button>
          <button type="button" disabled={held.length === 0} onClick={() => change(NO_FILTERS)}>
            Clear
          </button>
          <button type="button" class="more" aria-expanded={hasRare} onClick={() => setShowsRare(!showsRare)}>
            {hasRare ? 'Fewer' : 'More filters'}
          </button>
        </div>
      </div>
      {hasRare && (
        <div class="fields">
          {fields
            .filter(({ isRare }) => isRare === true)
            .map(field => (
              <Field key={field.name} field={field} given={filters[field.name]} />
            ))}
        </div>
      )}
      {held.length > 0 && (
        <ul class="chips" aria-label="Filters that hold">
          {held.map(({ name, label, value }) => (
            <li key={name}>
              <button
                type="button"
                class="chip"
                title="Remove this filter"
                onClick={() => change({ [name]: undefined })}
              >
                <span class="chip-name">{label}</span> {value} <span aria-hidden="true">×</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </form>
  )
}

function Field({ field, given }: { field: FilterField; given: string | undefined }) {
  const { name, label, kind, options, suggestions } = field
  return (
    <div class={`field field-${name}`}>
      <label for={`filter-${name}`}>{label}</label>
      {kind === 'choice' ? (
        <select id={`filter-${name}`} name={name}>
          <option value="">any</option>
          {Object.entries(options ?? {}).map(([value, title]) => (
            <option key={value} value={value} selected={value === given}>
              {title}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={`filter-${name}`}
          name={name}
          type={kind}
          list={suggestions && `choices-${name}`}
          defaultValue={given}
          spellcheck={false}
          autocomplete="off"
        />
      )}
      {suggestions && (
        <datalist id={`choices-${name}`}>
          {suggestions.map(choice => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </div>
  )
}
