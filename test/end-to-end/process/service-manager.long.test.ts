// What a gateway tells systemd. A program of the test stands in for `systemd-notify`: Node cannot receive its messages either.

import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { emulatorVariables, readLog, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { openStream } from '../system/support.ts'

const SOCKET = '/run/systemd/notify'

/** A folder with a program that writes down how it is called. */
function installProgram(t: Test, lastLine = '') {
  const folder = createTemporaryFolder(t)
  const calls = join(folder, 'calls')
  const program = join(folder, 'systemd-notify')
  writeFileSync(program, `#!/bin/sh\nIFS='|'\necho "$NOTIFY_SOCKET|$*" >> ${calls}\n${lastLine}\n`)
  chmodSync(program, 0o755)
  return {
    path: `${folder}:${process.env.PATH}`,
    /** Each call: the socket, and the assignments. */
    read: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []).map(line => line.split('|'))
  }
}

type Program = ReturnType<typeof installProgram>

function untilTold(program: Program, assignment: string): Promise<void> {
  return waitUntil(() => program.read().flat().includes(assignment), `${assignment} is told`)
}

async function start(t: Test, program: Program, env: Record<string, string> = {}) {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), PATH: program.path, ...env } })
  return { emulator, gateway }
}

function untilServing(gateway: StartedGateway): Promise<void> {
  return waitUntil(() => readLog(gateway).some(({ event }) => event === 'startup_complete'), 'the gateway serves')
}

t.test('it waits, serves, drains and stops, in this order', async t => {
  const program = installProgram(t)
  const { gateway } = await start(t, program, { NOTIFY_SOCKET: SOCKET, GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '60' })
  await untilTold(program, 'READY=1')
  t.strictSame(program.read(), [
    [SOCKET, 'STATUS=waiting for the model list'],
    [SOCKET, 'READY=1', 'STATUS=serving']
  ])
  const response = await openStream(gateway, 'completions', '[[hang:2]]')
  gateway.process.kill('SIGTERM')
  await untilTold(program, 'STOPPING=1')
  await untilTold(program, 'STATUS=draining 1 active')
  await response.body?.cancel()
  t.equal(await gateway.stop(), 0)
  const told = program.read().flat()
  t.ok(told.indexOf('STOPPING=1') < told.indexOf('STATUS=draining 1 active'))
})

t.test(
  'signs of life follow each other while it serves, and only where systemd wants them from this process',
  async t => {
    const program = installProgram(t)
    await start(t, program, { NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC: '100000' })
    await waitUntil(() => program.read().filter(call => call.includes('WATCHDOG=1')).length >= 3, 'three signs of life')
    const other = installProgram(t)
    const { gateway } = await start(t, other, { NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC: '2000', WATCHDOG_PID: '1' })
    await untilTold(other, 'READY=1')
    t.equal(await gateway.stop(), 0)
    t.notOk(other.read().flat().includes('WATCHDOG=1'))
  }
)

t.test('without systemd nothing is told', async t => {
  const program = installProgram(t)
  const { gateway } = await start(t, program)
  await untilServing(gateway)
  t.equal(await gateway.stop(), 0)
  t.strictSame(program.read(), [])
})

t.test('a message that cannot be sent is one warning, and the gateway serves', async t => {
  const program = installProgram(t, 'exit 1')
  const { gateway } = await start(t, program, { NOTIFY_SOCKET: SOCKET, WATCHDOG_USEC: '20000' })
  await waitUntil(() => program.read().length >= 4, 'further messages are tried')
  t.equal((await fetch(`${gateway.url}/health`)).status, 200)
  t.equal(readLog(gateway).filter(({ event }) => event === 'service_manager_unreachable').length, 1)
  t.equal(await gateway.stop(), 0)
})
