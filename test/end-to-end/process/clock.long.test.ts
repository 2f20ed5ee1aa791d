// A gateway whose clock is hours away from that of the authorization server.
import { globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { post } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1')
const skip = library === undefined && process.env.CI === undefined ? 'faketime is not installed' : false

for (const [offset, warnings] of [
  ['+2h', 1],
  ['-2h', 0]
] as const) {
  t.test(`operations-clock: a clock at ${offset} costs no token for each request`, { skip }, async t => {
    const home = createTemporaryFolder(t)
    // The processes of the gateway get no variables of this library, which reads this file as well.
    writeFileSync(join(home, '.faketimerc'), `${offset}\n`)
    const emulator = await startEmulator(t)
    const env = { ...emulatorVariables(emulator), HOME: home, LD_PRELOAD: library }
    const gateway = await startGateway(t, { env })
    for (let count = 0; count < 10; count += 1) {
      const { status } = await post(`${gateway.url}/v1/chat/completions`, {
        model: 'GigaChat-2',
        messages: [{ role: 'user', content: 'hi' }]
      })
      t.equal(status, 200)
    }
    // Every line is in the file once the gateway has exited: workers gather theirs for a moment.
    t.equal(await gateway.stop(), 0)
    const lines = readLog(gateway)
    const skewMs = Date.parse(String(lines.at(-1)?.time)) - Date.now()
    t.ok(Math.abs(skewMs) > 7_000_000, 'the clock is wrong')
    t.ok(emulator.stats.oauthCalls <= 2, `${emulator.stats.oauthCalls} token calls`)
    t.equal(lines.filter(({ event }) => event === 'clock_ahead').length, warnings)
  })
}
