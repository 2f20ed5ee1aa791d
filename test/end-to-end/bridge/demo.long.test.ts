// The profile file to start with, on the embedded upstream of `--demo`.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { get, post } from '../../support/client.ts'
import { startGateway } from '../../support/in-process-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { ask, families, send } from './families.ts'

const demoFile = join(import.meta.dirname, '../../../ops/examples/demo-profile.yaml')
const DEMO_PORT = /127\.0\.0\.1:8091\b/g

t.test('the demo profile serves the aliases of every provider kind in every family', async t => {
  const text = readFileSync(demoFile, 'utf8')
  const profiles = text.match(/profile_id:/g)?.length
  t.equal(text.match(DEMO_PORT)?.length, profiles, 'every profile has the port of the embedded upstream')
  const path = join(createTemporaryFolder(t), 'demo-profile.yaml')
  writeFileSync(path, text.replaceAll(DEMO_PORT, `127.0.0.1:${await findFreePort()}`))
  const { url, stop } = await startGateway(t, { args: ['--demo', '--config', path] })
  for (const family of families) {
    for (const model of [
      'demo/native',
      'demo/chat',
      'demo/text-only',
      'demo/responses',
      'demo/messages',
      'demo/content',
      'GigaChat-2-Pro'
    ]) {
      for (const isStream of [false, true]) {
        const outcome = await ask(url, family, { model, prompt: '[[text:Hello]]', isStream })
        t.equal(outcome.text, 'Hello', `${family.name}, ${model}`)
        t.equal(outcome.model, model)
      }
    }
    const prompt = '[[tool:weather {"city":"Oslo"}]]'
    for (const model of ['demo/chat', 'demo/responses', 'demo/messages', 'demo/content']) {
      const { calls } = await ask(url, family, { model, prompt, more: family.tools })
      t.match(calls, [{ name: 'weather', arguments: { city: 'Oslo' } }])
    }
    const refused = await send(url, family, { model: 'demo/text-only', prompt, more: family.tools })
    t.equal(refused.status, 400)
    t.equal(family.readFailure(refused).code, 'unsupported_semantic')
  }
  const embeddings = await post(`${url}/v1/embeddings`, { model: 'demo/embeddings', input: 'a' })
  t.match(embeddings, { status: 200, json: { model: 'demo/embeddings', data: [{ index: 0 }] } })
  const { json } = await get(`${url}/v1/models`)
  const ids = json.data.map(({ id }: { id: string }) => id)
  for (const id of [
    'demo/native',
    'demo/chat',
    'demo/text-only',
    'demo/embeddings',
    'demo/responses',
    'demo/messages',
    'demo/content',
    'GigaChat-2-Max'
  ]) {
    t.ok(ids.includes(id), id)
  }
  t.equal(await stop(), 0)
})
