// Pages of a list of items (memory.md 4).
import type { Page } from '../../shared/memory/store.ts'

export interface Cut<Entry> {
  readonly entries: readonly Entry[]
  readonly hasMore: boolean
}

/** Cuts a page out of a whole list, which begins with the oldest. */
export function cutPage<Entry extends { readonly id: string }>(
  list: readonly Entry[],
  { after, limit, order }: Page
): Cut<Entry> | 'unknown_cursor' {
  const ordered = order === 'asc' ? list : list.toReversed()
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && start === 0) return 'unknown_cursor'
  return { entries: ordered.slice(start, start + limit), hasMore: ordered.length > start + limit }
}
