// Clients that are slow, stop to read, leave, or are very many.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Owner } from '../support/owner.ts'
import { waitUntil } from '../support/processes.ts'
import { startLoad } from './load.ts'
import { createQuestion, SHAPE_COUNT } from './questions.ts'
import { startTarget, type Target } from './target.ts'
import type { FaultContext, FaultEntry, FaultRun } from './types.ts'

const CLIENTS = 8
/** Connections that are opened at a time. */
const OPENED_AT_ONCE = 100

/** Opens so many connections; those that were refused are closed. All end with the owner. */
export async function openSockets(owner: Owner, url: string, count: number): Promise<Socket[]> {
  const { port, hostname } = new URL(url)
  const sockets: Socket[] = []
  owner.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  while (sockets.length < count) {
    const opened = Array.from({ length: Math.min(OPENED_AT_ONCE, count - sockets.length) }, () => {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => undefined)
      return socket
    })
    sockets.push(...opened)
    await Promise.all(opened.map(socket => Promise.race([once(socket, 'connect'), once(socket, 'close')])))
  }
  return sockets
}

/** The head of a POST with a body of this length. */
function headOf(path: string, length: number): string {
  return `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
}

/** The request of the question with this number. */
function requestOf(number: number, words: string): string {
  const { path, body } = createQuestion(number, { words })
  return headOf(path, Buffer.byteLength(body)) + body
}

/** Runs an ordinary load beside what the bad clients do. */
async function besideLoad(
  { owner, sized }: FaultContext,
  misbehave: (target: Target, context: { owner: Owner; sized: FaultContext['sized'] }) => Promise<string>
): Promise<FaultRun> {
  const target = await startTarget(owner)
  const load = startLoad({ url: target.url, clients: CLIENTS })
  await load.more(CLIENTS * 2)
  const seen = await misbehave(target, { owner, sized })
  await load.more(CLIENTS * 4)
  const outcomes = await load.stop()
  // What the bad clients had does not go on at the provider for long.
  await waitUntil(() => target.provider.running === 0, 'no call goes on at the provider', 15_000)
  return { outcomes, seen, problems: [] }
}

/** Runs an ordinary load beside so many bad connections, which are open while `misbehave` runs. */
function besideSockets(
  context: FaultContext,
  count: number,
  misbehave: (sockets: readonly Socket[]) => Promise<string>
): Promise<FaultRun> {
  return besideLoad(context, async (target, { owner, sized }) => {
    const sockets = await openSockets(owner, target.url, sized(count))
    const seen = await misbehave(sockets)
    for (const socket of sockets) socket.destroy()
    return seen
  })
}

/** Sends the text on every connection, one character in 100 ms. */
async function writeSlowly(sockets: readonly Socket[], text: string): Promise<void> {
  for (const character of text) {
    for (const socket of sockets) socket.write(character)
    await wait(100)
  }
}

const slowHeads: FaultEntry = {
  name: 'slow-heads',
  done: '500 connections send their heads a byte at a time',
  expected: 'other clients are answered at once',
  run: context =>
    besideSockets(context, 500, async sockets => {
      await writeSlowly(sockets, headOf('/v1/chat/completions', 10).slice(0, 25))
      const open = sockets.filter(socket => !socket.destroyed).length
      return `${open} of ${sockets.length} were still waited for`
    })
}

const slowBodies: FaultEntry = {
  name: 'slow-bodies',
  done: '500 connections send heads that announce a megabyte and then a byte at a time',
  expected: 'other clients are answered at once',
  run: context =>
    besideSockets(context, 500, async sockets => {
      for (const socket of sockets) socket.write(headOf('/v1/messages', 1_000_000))
      await writeSlowly(sockets, '{'.repeat(25))
      return `${sockets.length} bodies were never whole`
    })
}

const stoppedReaders: FaultEntry = {
  name: 'stopped-readers',
  done: '100 clients ask for streams and read nothing of them',
  expected: 'other clients are answered at once, and nothing goes on at the provider when they are gone',
  run: context =>
    besideSockets(context, 100, async sockets => {
      for (const [index, socket] of sockets.entries()) {
        socket.pause()
        socket.write(requestOf(2 * index + 1, '[pace 100]'))
      }
      await wait(3_000)
      return `${sockets.length} streams were not read`
    })
}

const leavingClients: FaultEntry = {
  name: 'leaving-clients',
  done: '200 clients disconnect in the middle of their answers, half of them by a reset',
  expected: 'other clients are answered, and the calls of those that left end at the provider',
  run: context =>
    besideSockets(context, 200, async sockets => {
      for (const [index, socket] of sockets.entries()) {
        socket.write(requestOf(index % SHAPE_COUNT, '[pace 200]'))
      }
      await wait(700)
      for (const [index, socket] of sockets.entries()) if (index % 2 === 0) socket.resetAndDestroy()
      return `${sockets.length} clients left`
    })
}

const halfClosed: FaultEntry = {
  name: 'half-closed',
  done: '200 clients close their sending side right behind the question and go on reading',
  expected: 'each gets its whole answer or a closed connection, never a part that looks whole',
  run: context =>
    besideSockets(context, 200, async sockets => {
      const texts = sockets.map(async (socket, index) => {
        const chunks: Buffer[] = []
        socket.on('data', chunk => chunks.push(chunk))
        const closed = once(socket, 'close')
        socket.end(requestOf(2 * (index % (SHAPE_COUNT / 2)), '[pace 5]'))
        await closed
        return Buffer.concat(chunks).toString('utf8')
      })
      const answered = (await Promise.all(texts)).filter(text => text.startsWith('HTTP/1.1 200')).length
      return `${answered} of ${sockets.length} were answered, the others closed`
    })
}

const manyIdle: FaultEntry = {
  name: 'idle-connections',
  done: '10,000 connections are open and idle',
  expected: 'a load beside them is answered as without them',
  run: context =>
    besideLoad(context, async (target, { owner, sized }) => {
      const before = readMemory(target)
      const sockets = await openSockets(owner, target.url, sized(10_000))
      await wait(1_000)
      const open = sockets.filter(socket => !socket.destroyed).length
      const kilobytes = Math.round((readMemory(target) - before) / Math.max(1, open))
      for (const socket of sockets) socket.destroy()
      return `${open} were open, with ${kilobytes} kB of memory each`
    })
}

/** Kilobytes of all workers. */
function readMemory(target: Target): number {
  const sizes = target
    .pidsOf('worker')
    .map(pid => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0))
  return sizes.reduce((sum, size) => sum + size, 0)
}

export const clientFaults: readonly FaultEntry[] = [
  slowHeads,
  slowBodies,
  stoppedReaders,
  leavingClients,
  halfClosed,
  manyIdle
]
