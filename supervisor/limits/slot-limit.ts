// A limit of running requests, counted on this host alone.
import { type CountedLimitOptions, SLOT_RETRY_MS } from './counted-limit.ts'
import { createHostLimit, type HostLimit } from './host-limit.ts'

export function createSlotLimit(options: CountedLimitOptions): HostLimit {
  const heldBy = new Map<number, number>()
  let held = 0

  /** At most what the owner holds: what was granted before this limit existed is not counted in it. */
  function free(owner: number, amount: number): void {
    const owned = heldBy.get(owner) ?? 0
    const freed = Math.min(amount, owned)
    held -= freed
    if (freed === owned) heldBy.delete(owner)
    else heldBy.set(owner, owned - freed)
  }

  return createHostLimit(options, {
    add({ owner, amount }) {
      held += amount
      heldBy.set(owner, (heldBy.get(owner) ?? 0) + amount)
    },
    giveBack: ({ owner, amount }) => free(owner, amount),
    overrun: () => undefined,
    releaseOwner: owner => free(owner, heldBy.get(owner) ?? 0),
    used: () => held,
    msUntil: used => (held <= used ? 0 : SLOT_RETRY_MS),
    resetMs: () => 0
  })
}
