// The command with a profile file beside the embedded upstream.
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { get, post } from '../../support/client.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { startScript } from './fixtures/run.ts'

const root = join(import.meta.dirname, '../../..')
const main = join(root, 'supervisor/main.ts')

/** A copy of the example with another port, which is held until it is given back. */
async function writeDemoFile(t: Test) {
  const port = await findFreePort()
  const holder = createServer()
  holder.listen(port, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const example = readFileSync(join(root, 'ops/examples/demo-profile.yaml'), 'utf8')
  const file = join(createTemporaryFolder(t), 'demo.yaml')
  writeFileSync(file, example.replaceAll(':8091/', `:${port}/`))
  return { file, holder, port }
}

t.test('the demo serves the aliases of a profile file from the embedded upstream', async t => {
  const { file, holder, port } = await writeDemoFile(t)
  holder.close()
  await once(holder, 'close')
  // A machine behind a proxy: the embedded upstream is on loopback, where the proxy does not lead.
  const gateway = startScript(t, main, ['--demo', '--config', file, '--host', '127.0.0.1', '--port', '0'], {
    GATEWAY_WORKERS: '1',
    http_proxy: 'http://127.0.0.1:9'
  })
  const line = await gateway.readLine(one => one.includes('The gateway listens on'))
  const url = /http:\S+/.exec(line)?.[0] ?? ''
  rmSync(file)
  for (const model of ['demo/native', 'demo/chat']) {
    const body = { model, messages: [{ role: 'user', content: 'Hello!' }] }
    const response = await post(`${url}/v1/chat/completions`, body)
    t.equal(response.status, 200, response.text)
    t.equal(response.json.model, model)
  }
  const stats = await get(`http://127.0.0.1:${port}/__control/stats`)
  t.equal(stats.status, 200, 'the embedded upstream has the port of the file')
  t.match(await gateway.readLine(one => one.includes('"model"')), '"demo/native"', 'the examples name an alias')
  gateway.child.kill('SIGTERM')
  t.same(await gateway.exited, { code: 0, signal: null })
  t.notMatch(JSON.stringify(gateway.readLog()) + gateway.output(), Buffer.from('demo:demo').toString('base64'))
})

t.test('a port of the file that is taken ends the start with 1 and one line', async t => {
  const { file } = await writeDemoFile(t)
  const started = startScript(t, main, ['--demo', '--config', file], {})
  t.same(await started.exited, { code: 1, signal: null })
  t.match(started.errors(), /llm-gateway: startup_failed: demo_upstream_failed: [^\n]+\n$/)
})
