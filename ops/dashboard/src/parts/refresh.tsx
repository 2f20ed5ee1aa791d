// When the view was read, and the switch that has it read again and again while the page is visible.
import { useNavigation } from '../address.ts'
import { formatTime } from '../data/format.ts'

export interface RefreshProps {
  /** Milliseconds since the epoch; absent before the first answer. */
  readonly atMs: number | undefined
  readonly isLoading: boolean
  readonly onRefresh: () => void
  /** Whether the view refreshes itself where the address does not say. */
  readonly isOn?: boolean
}

/** Whether the view refreshes itself. */
export function readsRefresh(params: Readonly<Record<string, string>>, isOn = true): boolean {
  return params.refresh === undefined ? isOn : params.refresh === 'on'
}

export function Refresh({ atMs, isLoading, onRefresh, isOn = true }: RefreshProps) {
  const { params, set } = useNavigation()
  const refreshes = readsRefresh(params, isOn)
  return (
    <div class="refresh" aria-busy={isLoading}>
      {atMs !== undefined && (
        <span class="hint updated">
          <span class="updated-word">Updated </span>
          <time>{formatTime(new Date(atMs).toISOString()).slice(0, 'HH:mm:ss'.length)}</time>
        </span>
      )}
      <label class="switch" title="Read again by itself, while the page is visible">
        <input
          type="checkbox"
          role="switch"
          checked={refreshes}
          aria-checked={refreshes}
          onChange={() => set({ refresh: refreshes === isOn ? (isOn ? 'off' : 'on') : undefined })}
        />
        <span>Auto</span>
      </label>
      <button type="button" onClick={onRefresh}>
        Refresh
      </button>
    </div>
  )
}
