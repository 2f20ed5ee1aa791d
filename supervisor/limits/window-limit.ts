// A limit per minute, counted on this host alone.
import type { CountedLimitOptions } from './counted-limit.ts'
import { createHostLimit, type HostLimit } from './host-limit.ts'
import { createSlidingWindow } from './sliding-window.ts'

export function createWindowLimit(options: CountedLimitOptions): HostLimit {
  const window = createSlidingWindow()
  return createHostLimit(options, {
    add: ({ amount, nowMs }) => window.add(amount, nowMs),
    giveBack: ({ amount, grantedAtMs }) => window.remove(amount, grantedAtMs),
    overrun: window.add,
    releaseOwner: () => undefined,
    used: window.used,
    msUntil: (used, nowMs) => Math.ceil(window.msUntil(used, nowMs)),
    resetMs: nowMs => Math.ceil(window.msUntil(0, nowMs))
  })
}
