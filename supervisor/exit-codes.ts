// How the gateway process ends, as numbers that init systems and scripts can act on (bridge contract, section 1.4).

export const EXIT_CODES = Object.freeze({
  /** A stop that was asked for, a preflight that found nothing, help or version. */
  clean: 0,
  /** The port is taken, the address is not ours, a worker was not ready in time: a later start may succeed. */
  startupFailed: 1,
  /** Wrong configuration or usage: a restart will not help. */
  wrongConfiguration: 2,
  /** Closing what is owned took longer than its bound. */
  cleanupExceeded: 4,
  /** Workers keep dying faster than restarting them makes sense. */
  workersKeepDying: 5
})

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES]
