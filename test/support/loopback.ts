// Keeps a test process on this machine: a library that sends telemetry, or uses a default address, fails the test.

import { Socket } from 'node:net'
import type { Test } from 'tap'

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/**
 * Makes every connection of this process to another host fail until the test ends.
 * @returns the hosts that were tried, which grows while the test runs
 */
export function refuseOtherHosts(t: Test): readonly string[] {
  const tried: string[] = []
  const connect = Socket.prototype.connect
  function guardedConnect(this: Socket, ...args: unknown[]): Socket {
    const host = readHost(args)
    if (!loopback.test(host)) {
      tried.push(host)
      throw new Error(`A test wanted to reach ${host}.`)
    }
    return Reflect.apply(connect, this, args)
  }
  Socket.prototype.connect = guardedConnect as typeof connect
  t.teardown(() => {
    Socket.prototype.connect = connect
  })
  return tried
}

/** The host that the arguments of `connect` name: (port, host), (options), or [options, …] as node's own callers pass them. */
function readHost(args: unknown[]): string {
  const first = Array.isArray(args[0]) ? args[0][0] : args[0]
  if (typeof first === 'object' && first !== null)
    return 'host' in first ? String(first.host ?? 'localhost') : 'localhost'
  return typeof args[1] === 'string' ? args[1] : 'localhost'
}
