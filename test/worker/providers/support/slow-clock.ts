import type { Test } from 'tap'

/** Until the test ends, every look at the clock is 3 ms later, so that each read seems to have taken long. */
export function slowDownClock(t: Test): void {
  const { now } = performance
  let clockMs = now.call(performance)
  performance.now = () => {
    clockMs += 3
    return clockMs
  }
  t.teardown(() => {
    performance.now = now
  })
}
