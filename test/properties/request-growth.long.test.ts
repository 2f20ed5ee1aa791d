// Alone: it measures processor times, for a minute on a busy machine.
// The cost of a request grows with its size only: every list of every operation is read, admitted and written on each contract of the
// provider, with n and with 8 n of the smallest items.

import t from 'tap'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../support/growth.ts'
import { listsOf, operations, type RequestList, runBody } from '../support/request-lists.ts'

function fail(): never {
  throw new Error('The operation has no such contract.')
}

/** Writes one body of each size: it is only read, so every contract and every repetition may read the same one. */
function writeOnce({ write }: RequestList): RequestList['write'] {
  const bodies = new Map<number, Uint8Array>()
  return size => {
    const bytes = bodies.get(size) ?? write(size)
    bodies.set(size, bytes)
    return bytes
  }
}

for (const operation of operations) {
  t.test(`cost 2: the time of every list of ${operation.name} grows with its size only`, async t => {
    const slow: string[] = []
    for (const list of listsOf(operation)) {
      const write = writeOnce(list)
      for (const contract of list.contracts) {
        const run = operation.run[contract] ?? fail
        const growth = measureGrowth(list.size, size => {
          const bytes = write(size)
          return () => runBody(run, bytes)
        })
        if (growth > LINEAR_GROWTH_MAX) slow.push(`${list.name} on ${contract}: ${growth.toFixed(1)} times as long`)
      }
    }
    t.same(slow, [])
  })
}
