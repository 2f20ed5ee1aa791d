// Deadlines of work that nearly always ends in time. A timer for each would be set and cleared three times per request, a fortieth of
// its cost; these share one, which looks at all of them every so often. So a deadline is kept to within one such look, or two where
// a renewal is only remembered until the next one, and never early.

/** Something with a deadline. */
export interface Deadlined {
  /**
   * Asked at every look, on the clock of `performance.now()`; infinite while there is none. What happens often need not move a
   * deadline by itself: it is enough to remember that it happened until this asks.
   */
  deadlineMs(nowMs: number): number
  /** Index in the list of what is watched; only this module writes it. */
  deadlinePlace: number
  /** The deadline has come. It is watched no longer. */
  onDeadline(): void
}

/** How often deadlines are looked at. */
const DEADLINE_LOOK_MS = 50

/** The place of what is not watched. */
export const UNWATCHED = -1

const watched: Deadlined[] = []
let timer: NodeJS.Timeout | undefined

/** Watches a deadline until it has come or `forgetDeadline`. */
export function watchDeadline(item: Deadlined): void {
  if (item.deadlinePlace !== UNWATCHED) return
  item.deadlinePlace = watched.push(item) - 1
  timer ??= setInterval(look, DEADLINE_LOOK_MS)
}

/** The work has ended, or its deadline has. Nothing happens for what is not watched. */
export function forgetDeadline(item: Deadlined): void {
  const place = item.deadlinePlace
  if (place === UNWATCHED) return
  item.deadlinePlace = UNWATCHED
  const last = watched.pop()
  if (last === undefined || last === item) return
  watched[place] = last
  last.deadlinePlace = place
}

function look(): void {
  // Between two requests the timer goes on: only a process that had nothing to watch for a whole while lets go of it.
  if (watched.length === 0) {
    clearInterval(timer)
    timer = undefined
    return
  }
  const nowMs = performance.now()
  // From the end, because whoever is forgotten meanwhile gives its place to the last.
  for (let place = watched.length - 1; place >= 0; place--) {
    const item = watched[place]
    if (item === undefined || item.deadlineMs(nowMs) > nowMs) continue
    forgetDeadline(item)
    item.onDeadline()
  }
}
