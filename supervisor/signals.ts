// Catches the stop signals from the first moment on, so that one that comes while modules are still loading is not lost
// (field lesson I6).

export type StopSignal = 'SIGTERM' | 'SIGINT'

export interface StopSignals {
  /** Calls the listener for each stop signal; those that came before are told at once. */
  listen(listener: (signal: StopSignal) => void): void
}

/** Installs the handlers. They stay until the process ends: a default handler would end it without cleanup. */
export function catchStopSignals(): StopSignals {
  const caught: StopSignal[] = []
  let listener: ((signal: StopSignal) => void) | undefined
  const receive = (signal: StopSignal) => {
    if (listener === undefined) caught.push(signal)
    else listener(signal)
  }
  process.on('SIGTERM', () => receive('SIGTERM'))
  process.on('SIGINT', () => receive('SIGINT'))
  return {
    listen(next) {
      listener = next
      for (const signal of caught.splice(0)) next(signal)
    }
  }
}
