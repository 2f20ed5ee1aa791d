// Which columns of records are shown; part of the address.
import { useState } from 'preact/hooks'
import { useNavigation } from '../address.ts'
import { RECORD_COLUMNS, readColumns, writeColumns } from '../data/columns.ts'

export function ColumnChoice() {
  const [isOpen, setOpen] = useState(false)
  const { params, set } = useNavigation()
  const names = readColumns(params.columns).map(({ name }) => name)
  function toggle(name: string): void {
    set({ columns: writeColumns(names.includes(name) ? names.filter(one => one !== name) : [...names, name]) })
  }
  return (
    <details class="menu" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>Columns</summary>
      {isOpen && (
        <fieldset class="card menu-body">
          <legend class="hidden-text">Columns</legend>
          {RECORD_COLUMNS.map(({ name, label }) => (
            <label key={name} class="inline">
              <input type="checkbox" checked={names.includes(name)} onChange={() => toggle(name)} />
              <span>{label}</span>
            </label>
          ))}
        </fieldset>
      )}
    </details>
  )
}
