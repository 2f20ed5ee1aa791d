// Stops and replacements under load.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { readChildPids, waitUntil } from '../support/processes.ts'
import { createTemporaryFolder } from '../support/temporary.ts'
import { startLoad } from './load.ts'
import { startProvider } from './provider.ts'
import { isAlive, providerVariables, startTarget } from './target.ts'
import type { FaultEntry } from './types.ts'

const CLIENTS = 12

const stopUnderLoad: FaultEntry = {
  name: 'sigterm-under-load',
  done: 'SIGTERM under load, with streams of 200 ms',
  expected: 'every accepted question is answered or refused with an error of its family; exit code 0',
  async run({ owner }) {
    const target = await startTarget(owner)
    const load = startLoad({ url: target.url, clients: CLIENTS, words: '[pace 25]' })
    await load.more(60)
    const code = await target.gateway.stop()
    const outcomes = await load.stop()
    return {
      outcomes,
      // The system resets connections that no worker had accepted when the listener closed.
      mayBeLost: ({ isFirst, why }) => isFirst && why === 'ECONNRESET',
      seen: `exit code ${code}`,
      problems: code === 0 ? [] : [`the exit code is ${code}`]
    }
  }
}

const replacement: FaultEntry = {
  name: 'replaced-workers',
  done: 'SIGUSR2 under load on kept and on new connections, twice: all workers are replaced one by one',
  expected: 'no question notices',
  async run({ owner, sized }) {
    const target = await startTarget(owner)
    const kept = startLoad({ url: target.url, clients: CLIENTS, words: '[pace 10]' })
    const fresh = startLoad({ url: target.url, clients: 4, words: '[pace 10]', isUnkept: true })
    const before = target.pidsOf('worker')
    for (let count = 1; count <= 2; count += 1) {
      await kept.more(sized(100))
      target.gateway.process.kill('SIGUSR2')
      await waitUntil(() => target.countEvents('workers_replaced') >= count, 'the workers were replaced', 60_000)
    }
    await kept.more(sized(100))
    const outcomes = [...(await kept.stop()), ...(await fresh.stop())]
    const others = outcomes.filter(({ kind }) => kind !== 'right')
    const left = target.pidsOf('worker').filter(pid => before.includes(pid))
    return {
      outcomes,
      seen: 'all workers were replaced twice',
      problems: [
        ...(others.length === 0 ? [] : [`${others.length} were not answered, such as ${others[0]?.why}`]),
        ...(left.length === 0 ? [] : ['an old worker is left'])
      ]
    }
  }
}

/** Events of a start, in their order; undefined is the moment at which the process exists. */
const STEPS = [
  undefined,
  'starting',
  'effective_settings',
  'port_reserved',
  'worker_ready',
  'listening',
  'startup_complete'
] as const

const stopAtEveryStep: FaultEntry = {
  name: 'sigterm-at-every-step',
  done: 'a start gets SIGTERM at each of its steps, from the first moment to its completion',
  expected: 'it ends within seconds, with exit code 0 once it runs, and leaves no process',
  async run({ owner }) {
    const provider = await startProvider(owner)
    const problems: string[] = []
    for (const step of STEPS) problems.push(...(await stopAt(step)))
    return { outcomes: [], isWithoutQuestions: true, seen: `${STEPS.length} starts were ended`, problems }

    async function stopAt(step: (typeof STEPS)[number]): Promise<string[]> {
      const folder = createTemporaryFolder(owner)
      const main = join(import.meta.dirname, '..', '..', 'supervisor', 'main.ts')
      const child = spawn(process.execPath, [main], {
        cwd: folder,
        env: { PATH: process.env.PATH, ...providerVariables(provider), GATEWAY_HOST: '127.0.0.1', GATEWAY_PORT: '0' },
        stdio: ['ignore', 'pipe', 'inherit']
      })
      owner.teardown(() => child.kill('SIGKILL'))
      const exited = once(child, 'exit')
      if (step !== undefined) await waitForEvent(child, step)
      const children = readChildPids(child.pid ?? 0)
      child.kill('SIGTERM')
      const [code, signal] = await exited
      await waitUntil(() => children.every(pid => !isAlive(pid)), 'its processes end', 10_000)
      // Before the first line of the gateway runs, the signal ends Node by its default.
      const isRight = code === 0 || (step === undefined && signal === 'SIGTERM')
      return isRight ? [] : [`at ${step}: exit code ${code}, signal ${signal}`]
    }
  }
}

async function waitForEvent(child: ChildProcess, event: string): Promise<void> {
  let output = ''
  child.stdout?.on('data', chunk => {
    output += String(chunk)
  })
  await waitUntil(() => output.includes(`"event":"${event}"`), `the start is at ${event}`)
}

export const lifecycleFaults: readonly FaultEntry[] = [stopUnderLoad, stopAtEveryStep, replacement]
