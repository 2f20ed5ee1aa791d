// Bounds of the last steps of a process that stops: of the gateway, and of one worker that is replaced.

/** How long cancelled requests have for their last response. */
export const SETTLE_MS = 1_000
/** Bound of everything that follows: closing clients, workers and services. */
export const CLEANUP_MS = 5_000
