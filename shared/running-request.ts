// A model request that runs, as the processes of a gateway show it to each other: from memory
// alone, and without content (field-lessons.md L17).

export interface RunningRequest {
  readonly requestId: string
  readonly traceId: string
  readonly workerId: number
  readonly protocol: string
  /** Template of the route. */
  readonly route: string
  /** As the client named it; null before the body was read. */
  readonly modelRequested: string | null
  readonly modelEffective: string | null
  readonly provider: string | null
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number
  /** The response has begun. */
  readonly isResponding: boolean
  readonly isStreaming: boolean
  readonly caller: string | null
  readonly apiKeyName: string | null
  readonly apiKeyHash: string | null
}

export interface RunningRequests {
  /** The oldest, in the order of their start. */
  readonly requests: readonly RunningRequest[]
  /** How many run, those that were left out included. */
  readonly total: number
}

/** How many requests one process reports: enough for a page, and small enough for one message. */
export const RUNNING_REQUESTS_MAX = 200

/** Adds up what several processes report. */
export function mergeRunning(lists: readonly RunningRequests[]): RunningRequests {
  const requests = lists.flatMap(list => list.requests)
  return { requests: keepOldest(requests), total: lists.reduce((sum, { total }) => sum + total, 0) }
}

/** The oldest requests, as many as one process reports. */
export function keepOldest<Started extends { readonly startedAtMs: number }>(requests: readonly Started[]): Started[] {
  return requests.toSorted((one, other) => one.startedAtMs - other.startedAtMs).slice(0, RUNNING_REQUESTS_MAX)
}
