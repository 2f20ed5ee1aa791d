// Forks worker processes: the only file that calls `node:cluster`.
import cluster from 'node:cluster'
import { attachChild, type ForkChild } from '../processes/child-process.ts'
import { closeLostConnections } from './lost-connections.ts'

export interface WorkerForkOptions {
  /** Path of the worker's entry file. */
  readonly entry: string
  /** Node options of the workers. */
  readonly execArgv: readonly string[]
  /** Every worker binds the port itself; otherwise this process hands connections to the workers over their channels. */
  readonly sharesPort: boolean
  /** Variables that are added to those of this process; one that is undefined is left out. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Returns the fork of worker processes, which share listening sockets through `node:cluster`. */
export function createWorkerFork({ entry, execArgv, environment, sharesPort }: WorkerForkOptions): ForkChild {
  cluster.setupPrimary({ exec: entry, args: [], execArgv: [...execArgv], serialization: 'advanced' })
  return listeners => {
    const worker = cluster.fork(environment)
    // The worker repeats the errors of its process, which are reported there; without a listener one would end this process.
    worker.on('error', () => undefined)
    if (!sharesPort) closeLostConnections(worker.process)
    return attachChild(worker.process, listeners)
  }
}
