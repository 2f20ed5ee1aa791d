// How the gateway process ends, as numbers that init systems and scripts can act on
// (bridge.md 1.4).

export const EXIT_CODES = Object.freeze({
  /** A requested stop, a preflight without findings, help or version. */
  clean: 0,
  /** The port is taken, the address belongs to another machine, a worker was not ready in time: a later start may succeed. */
  startupFailed: 1,
  /** Wrong configuration or usage: a restart will not help. */
  wrongConfiguration: 2,
  /** The cleanup took longer than its bound. */
  cleanupExceeded: 4,
  /** Workers exit faster than they can be respawned. */
  workersKeepDying: 5
})

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES]
