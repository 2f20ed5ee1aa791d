// Members of a profile file as clients and providers see them: secrets from files, presets, and the
// wire that chooses path and face (providers.md 1).

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { get, post } from '../../support/client.ts'
import { readLog, startEmulator } from '../../support/in-process-gateway.ts'
import { chatBaseUrl, responsesBaseUrl, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const KEY = 'canary-key-of-a-file'

const file = join(createTemporaryFolder(t), 'key')
writeFileSync(file, `${KEY}\n`)

const emulator = await startEmulator(t, { chatApiKeys: { keyed: KEY, words: null, stored: null } })
const gateway = await startProfileGateway(t, {
  profiles: [
    writeChatProfile({
      id: 'keyed',
      baseUrl: chatBaseUrl(emulator, 'keyed'),
      credentialEnv: 'GATEWAY_VENDOR_KEY',
      aliases: [{ alias: 'keyed/model' }]
    }),
    writeChatProfile({
      id: 'words',
      baseUrl: chatBaseUrl(emulator, 'words'),
      aliases: [
        { alias: 'words/chat', features: ['chat'] },
        { alias: 'words/no-tools', features: ['chat', '-function_tools', '-tool_choice'] },
        { alias: 'words/texts', features: ['text'] },
        { alias: 'words/thinks', features: ['reasoning'] }
      ]
    }),
    writeChatProfile({
      id: 'stored',
      baseUrl: responsesBaseUrl(emulator, 'stored'),
      aliases: [{ alias: 'stored/model' }],
      more: { wire: 'responses' }
    })
  ],
  env: {
    GATEWAY_VENDOR_KEY_FILE: file
  }
})

const ask = (model: string, more: object = {}) =>
  post(`${gateway.url}/v1/chat/completions`, { model, messages: [{ role: 'user', content: 'Hello' }], ...more })

const tool = { type: 'function', function: { name: 'look_up', parameters: { type: 'object', properties: {} } } }
const schema = { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object', properties: {} } } }

t.test('providers 7: the secret of a file reaches its own provider, and no log line', async t => {
  t.equal((await ask('keyed/model')).status, 200)
  const call = emulator.requests.find(({ path }) => path.includes('/keyed/'))
  t.equal(call?.headers.authorization, `Bearer ${KEY}`)
  await ask('words/chat')
  const others = emulator.requests.filter(({ path }) => !path.includes('/keyed/'))
  t.ok(others.length > 0)
  t.notMatch(JSON.stringify(others.map(({ headers }) => headers)), /canary/)
  const lines = readLog(gateway)
  t.notMatch(JSON.stringify(lines), /canary/)
  t.notMatch(JSON.stringify(lines), /VENDOR_KEY/, 'the variable is no unknown setting')
})

t.test('providers 13: a preset admits what it stands for, and what was taken away is refused', async t => {
  const full = { tools: [tool], tool_choice: 'auto', parallel_tool_calls: true, temperature: 0.5 }
  t.equal((await ask('words/chat', full)).status, 200)
  t.equal((await ask('words/chat', { response_format: schema })).status, 200)
  t.match((await ask('words/chat', { stream: true })).text, /data: \[DONE\]/)
  const refused = await ask('words/no-tools', { tools: [tool] })
  t.equal(refused.status, 400)
  t.match(refused.json.error, { code: 'unsupported_semantic', param: 'tools' })
  t.equal((await ask('words/no-tools', { response_format: schema })).status, 200)
  t.equal((await ask('words/texts')).status, 200, 'what every request requires is implied')
  t.equal((await ask('words/texts', { stream: true })).status, 400)
  const effort = { reasoning_effort: 'low' }
  t.match((await ask('words/chat', effort)).headers.get('x-gateway-ignored'), /reasoning_effort/)
  t.notMatch((await ask('words/thinks', effort)).headers.get('x-gateway-ignored') ?? '', /reasoning_effort/)
})

t.test('providers 13: the capability documents show what presets stand for', async t => {
  const states = async (model: string) => {
    const query = new URLSearchParams({ model, protocol: 'openai_chat_completions' })
    const { json } = await get(`${gateway.url}/bridge/capabilities?${query}`)
    const read = (name: string) => json.capabilities[name].state
    return ['text_input', 'streaming', 'function_tools', 'usage_tokens', 'reasoning_controls', 'image_input'].map(read)
  }
  t.same(await states('words/chat'), [...Array(4).fill('supported'), 'unsupported', 'unsupported'])
  const withoutTools = ['supported', 'supported', 'unsupported', 'supported', 'unsupported', 'unsupported']
  t.same(await states('words/no-tools'), withoutTools)
  t.same(await states('words/thinks'), [...Array(5).fill('supported'), 'unsupported'])
})

t.test('providers 15: wire: responses chooses path and face', async t => {
  const response = await ask('stored/model', { max_tokens: 100 })
  t.equal(response.status, 200)
  t.match(response.json, { object: 'chat.completion', choices: [{ message: { role: 'assistant' } }] })
  const calls = emulator.requests.filter(({ path }) => path.includes('/stored/'))
  t.same(
    calls.map(({ path }) => path),
    ['/responses-provider/stored/v1/responses']
  )
  t.match(calls[0]?.body, { max_output_tokens: 100, input: Array })
  const chats = emulator.requests.filter(({ path }) => path.includes('/words/'))
  t.ok(chats.length > 0)
  t.ok(chats.every(({ path }) => path.endsWith('/chat/completions')))
})
