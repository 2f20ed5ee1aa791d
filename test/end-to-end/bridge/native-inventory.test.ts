// A native profile of a file whose aliases are declared: its credential's other models are served and
// listed as well (specification.md 2.3), in files of every version.

import t from 'tap'
import { get, lastUpstreamChat } from '../../support/client.ts'
import { startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { writeNativeProfile, writeProfileFile } from '../../support/profile-gateway.ts'
import { askIn, families } from '../system/support.ts'

const emulator = await startEmulator(t)
const env = { UPSTREAM_AUTH_URL: emulator.authUrl, NATIVE_KEY: Buffer.from('a:b').toString('base64') }

function nativeProfile() {
  const aliases = [
    { alias: 'team/large', model: 'GigaChat-2-Max' },
    { alias: 'team/off', more: { enabled: false } }
  ]
  return writeNativeProfile({ id: 'native-main', emulator, credentialEnv: 'NATIVE_KEY', aliases })
}

for (const version of ['v1', 'v2', 'v3']) {
  t.test(`a native profile of a ${version} file does not hide the models of its credential`, async t => {
    const file = writeProfileFile(t, [nativeProfile()], version)
    const gateway = await startGateway(t, { env, args: ['--config', file] })
    await waitUntil(async () => (await get(`${gateway.url}/ready`)).status === 200, 'the inventory is there')
    t.match((await get(`${gateway.url}/ready`)).json, { model_catalog: { state: 'fresh' } })
    for (const path of ['/v1/models', '/v1beta/models', '/bridge/models']) {
      const { text } = await get(gateway.url + path)
      for (const id of ['team/large', 'GigaChat-2-Max', 'GigaChat-2-Pro', 'Embeddings']) t.match(text, id, path)
      t.notMatch(text, 'team/off', path)
    }
    for (const family of families) {
      for (const [model, sent] of [
        ['team/large', 'GigaChat-2-Max'],
        ['GigaChat-2-Pro', 'GigaChat-2-Pro']
      ] as const) {
        t.equal((await askIn(gateway, family, 'hi', { model })).status, 200, `${family} ${model}`)
        t.equal(lastUpstreamChat(emulator).body.model, sent)
      }
      for (const model of ['team/off', 'no-such-model']) {
        t.equal((await askIn(gateway, family, 'hi', { model })).status, 404, `${family} ${model}`)
      }
    }
    const capabilities = `${gateway.url}/bridge/capabilities?protocol=openai_chat_completions&model=`
    t.equal((await get(`${capabilities}GigaChat-2-Pro`)).status, 200)
    t.equal((await get(`${capabilities}no-such-model`)).status, 404)
  })
}
