// What a host may run out of: descriptors, disk space, and a clock that stays.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { whyWithoutProgram } from '../support/programs.ts'
import { whyWithoutDisk, withSmallDisk } from '../support/small-disk.ts'
import { createTemporaryFolder } from '../support/temporary.ts'
import { openSockets } from './client-faults.ts'
import { askAll, startLoad } from './load.ts'
import { startTarget } from './target.ts'
import type { FaultEntry } from './types.ts'

const CLIENTS = 12

const descriptors: FaultEntry = {
  name: 'descriptors',
  done: 'each process may open 256 descriptors; 900 idle connections are opened beside a load on kept ones, with metrics on',
  expected:
    'questions of open connections are answered, no worker ends, and new connections are served once the idle ones are gone',
  whySkipped: () => whyWithoutProgram('prlimit'),
  async run({ owner }) {
    const target = await startTarget(owner, {
      launcher: ['prlimit', '--nofile=256:256'],
      env: { GATEWAY_METRICS_ENABLED: 'true' }
    })
    const workers = target.pidsOf('worker')
    const load = startLoad({ url: target.url, clients: CLIENTS, words: '[pace 5]' })
    await load.more(CLIENTS * 2)
    const idle = await openSockets(owner, target.url, 900)
    await load.more(100)
    const refusedCount = idle.filter(socket => socket.destroyed).length
    for (const socket of idle) socket.destroy()
    const outcomes = [...(await load.stop())]
    outcomes.push(...(await askAll({ url: target.url, clients: 4, isUnkept: true, filler: 600_000 }, 16)))
    const isSame = String(target.pidsOf('worker')) === String(workers)
    return {
      outcomes,
      seen: `${refusedCount} of ${idle.length} idle connections were refused`,
      problems: isSame ? [] : ['a worker ended']
    }
  }
}

const diskFull: FaultEntry = {
  name: 'disk-full',
  done: 'log, records in two sinks, spill and the store of responses are on a disk of 6 MB that is full; later there is space again',
  expected: 'no question notices; what cannot be stored is counted or marked, and storing goes on when there is space',
  whySkipped: whyWithoutDisk,
  async run({ owner, sized }) {
    const disk = join(createTemporaryFolder(owner), 'disk')
    mkdirSync(disk)
    const target = await startTarget(owner, {
      launcher: withSmallDisk(disk),
      env: {
        GATEWAY_LOG_FILENAME: `${disk}/gateway.log`,
        GATEWAY_ACCESS_LOG: 'true',
        GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
        GATEWAY_TRAFFIC_LOG_SINKS: 'jsonl,sqlite',
        GATEWAY_TRAFFIC_LOG_JSONL_PATH: `${disk}/traffic.jsonl`,
        GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: `sqlite:${disk}/traffic.sqlite`,
        GATEWAY_TRAFFIC_LOG_SPILL_DIR: `${disk}/spill`,
        GATEWAY_TRAFFIC_LOG_FLUSH_INTERVAL_MS: '100',
        GATEWAY_RESPONSES_STORE_DSN: `sqlite:${disk}/responses.sqlite`
      }
    })
    const inside = (name: string): string => join('/proc', String(target.gateway.process.pid), 'root', disk, name)
    const options = { url: target.url, clients: CLIENTS }
    const outcomes = await askAll(options, sized(80))
    fill(inside('filler'))
    outcomes.push(...(await askAll({ ...options, filler: 2_000 }, sized(400))))
    rmSync(inside('filler'), { force: true })
    rmSync(inside('ballast'), { force: true })
    await wait(1_000)
    outcomes.push(...(await askAll(options, sized(80))))
    const code = await target.gateway.stop()
    return {
      outcomes,
      seen: 'the disk was full for most of the questions',
      problems: code === 0 ? [] : [`the exit code is ${code}`]
    }
  }
}

/** Writes a file until the disk takes no more. */
function fill(path: string): void {
  const block = Buffer.alloc(64 * 1024)
  try {
    for (let count = 0; count < 1000; count += 1) writeFileSync(path, block, { flag: 'a' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

const HOURS_MS = 2 * 3_600_000

const clockJumps: FaultEntry = {
  name: 'clock-jumps',
  done: 'the system time of all processes jumps two hours ahead, two hours back and to the right time under load',
  expected: 'no question notices, and the tokens of the provider are not fetched for each request',
  async run({ owner, sized }) {
    const file = join(createTemporaryFolder(owner), 'clock')
    writeFileSync(file, '0')
    const preload = new URL('fixtures/movable-clock.ts', import.meta.url).href
    const target = await startTarget(owner, {
      env: { NODE_OPTIONS: `--import=${preload}`, NODE_FAULTS_CLOCK: file, GATEWAY_METRICS_ENABLED: 'true' }
    })
    const load = startLoad({ url: target.url, clients: CLIENTS, words: '[pace 5]' })
    for (const offsetMs of [HOURS_MS, -HOURS_MS, 0]) {
      await load.more(sized(100))
      writeFileSync(file, String(offsetMs))
      await wait(300)
      // A token that comes from a server whose time is another one.
      target.provider.revokeTokens()
    }
    await load.more(sized(100))
    const outcomes = await load.stop()
    const { tokenCalls } = target.provider
    // Two workers, four generations of tokens.
    return {
      outcomes,
      seen: `${tokenCalls} token calls`,
      problems: tokenCalls > 8 ? [`${tokenCalls} token calls`] : []
    }
  }
}

export const resourceFaults: readonly FaultEntry[] = [descriptors, diskFull, clockJumps]
