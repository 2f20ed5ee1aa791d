// Two gateways behind HAProxy with its shipped site: one of them stops, as at a rolling update, and no client notices.
import { once } from 'node:events'
import t from 'tap'
import { get } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { whyWithout } from '../../support/programs.ts'
import { startProxy } from '../../support/proxies.ts'
import { askIn, families, openStream, streamedTextIn } from '../system/support.ts'

const CLIENTS = 4
const LONG = '[[text:one two three four five six seven eight]] [[tick:1500]]'

t.test(
  'decisions.md 97: a gateway behind a balancer stops without a lost request',
  { skip: whyWithout('haproxy') },
  async t => {
    const emulator = await startEmulator(t)
    const env = { ...emulatorVariables(emulator), GATEWAY_SHUTDOWN_READINESS_GRACE_SECONDS: '5' }
    const [first, second] = await Promise.all([startGateway(t, { env }), startGateway(t, { env })])
    for (const { url } of [first, second]) {
      await waitUntil(async () => (await get(`${url}/ready`)).status === 200, 'the gateway is ready')
    }
    const proxy = await startProxy(t, 'haproxy', first, [second])
    const streams = await Promise.all(families.map(family => openStream(proxy, family, LONG)))

    let isOver = false
    let asked = 0
    const failures: string[] = []
    async function askOnAndOn(family: (typeof families)[number]): Promise<void> {
      while (!isOver) {
        const { status, text } = await askIn(proxy, family, 'hello')
        asked += 1
        if (status !== 200) failures.push(`${status} ${text}`)
      }
    }
    const clients = Array.from({ length: CLIENTS }, (_, at) => askOnAndOn(families[at % families.length] ?? 'messages'))
    const exited = once(first.process, 'exit')
    first.process.kill('SIGTERM')
    t.strictSame(await exited, [0, null])
    const askedAtExit = asked
    await waitUntil(() => asked > askedAtExit + CLIENTS, 'the other gateway serves')
    isOver = true
    await Promise.all(clients)
    t.strictSame(failures, [])
    t.ok(askedAtExit > 20, `${askedAtExit} requests while it stopped`)
    for (const [at, family] of families.entries()) {
      const text = (await streams[at]?.text()) ?? ''
      t.equal(streamedTextIn(family, text), 'one two three four five six seven eight')
    }
  }
)
