// Tells which failures are those of a stale connection: a kept one that the other side had closed
// before it saw the request, or was closing just then (decisions.md 112).

/** A call on such a connection is repeated once on a new one. */
const staleErrors = new WeakSet<Error>()

/** Remembers why a connection ended that had served responses and has got no byte of the one to its last request. */
export function markStale(error: Error): void {
  staleErrors.add(error)
}

/** Whether a request failed because its connection was stale. */
export function isStale(error: Error): boolean {
  return staleErrors.has(error)
}
