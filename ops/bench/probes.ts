// The benchmark's side of the probes in the gateway's workers: they connect to a socket in a folder of the benchmark.

import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { ProbeOrder, ProbeReport } from './loop-probe.ts'

export interface Probes {
  /** The Node option that loads the probe into every process of the gateway. */
  nodeOption: string
  /** How many workers have connected so far: more than there are at a time when one was replaced. */
  readonly connected: number
  begin(options: { hasProfile: boolean }): Promise<void>
  /** The figures since `begin`; undefined when the worker has exited meanwhile or does not respond. */
  end(): Promise<ProbeReport | undefined>
  close(): void
}

/** A worker whose event loop is blocked for longer is killed by its supervisor. */
const DEADLINE_MS = 45_000

interface Probe {
  socket: Socket
  onAnswer: ((text: string | undefined) => void) | undefined
}

/** Listens at `path` for the probe of one worker, and for that of its replacement. */
export async function listenForProbes(path: string): Promise<Probes> {
  let connected = 0
  let current: Probe | undefined
  let begun: Probe | undefined
  const server = createServer(socket => {
    const probe: Probe = { socket, onAnswer: undefined }
    connected++
    current = probe
    socket.on('error', () => undefined)
    createInterface({ input: socket }).on('line', line => probe.onAnswer?.(line))
    socket.once('close', () => {
      if (current === probe) current = undefined
      probe.onAnswer?.(undefined)
    })
  }).listen(path)
  await once(server, 'listening')

  async function ask(probe: Probe | undefined, order: ProbeOrder): Promise<string | undefined> {
    if (probe === undefined || probe.socket.destroyed) return undefined
    const answer = Promise.withResolvers<string | undefined>()
    probe.onAnswer = answer.resolve
    const deadline = setTimeout(() => answer.resolve(undefined), DEADLINE_MS)
    probe.socket.write(`${JSON.stringify(order)}\n`)
    const text = await answer.promise
    clearTimeout(deadline)
    return text
  }

  return {
    nodeOption: `--import=${new URL(`loop-probe.ts?socket=${encodeURIComponent(path)}`, import.meta.url).href}`,
    get connected() {
      return connected
    },
    async begin({ hasProfile }) {
      begun = current
      await ask(begun, { kind: 'begin', hasProfile })
    },
    async end() {
      const text = await ask(begun, { kind: 'end' })
      return text === undefined ? undefined : (JSON.parse(text) as ProbeReport)
    },
    close() {
      current?.socket.destroy()
      server.close()
    }
  }
}
