// Keeps `process.nextTick` as fast as it starts. V8 forgets the shape of a kind of object when two full collections find none alive,
// and a worker that was idle for a moment has no tick alive. Node builds its ticks with computed names, for which V8 never learns a
// shape anew: from then on a tick costs ten times as much, and a request, which needs half a dozen, a fifteenth more
// (ADR 2026-11-22, one tick kept).

import { executionAsyncResource } from 'node:async_hooks'

const keptTicks: object[] = []

/** Holds on to one tick for as long as the process lives, and with it to the shape of all others. */
export function keepTickShape(): void {
  process.nextTick(() => {
    // What runs is a tick, and this is the one way to get hold of it.
    keptTicks.push(executionAsyncResource())
  })
}
