// What a profile adds to each of its calls, on every wire and through a proxy: headers and parameters
// arrive once, headers of clients never (providers.md 1; cases 4 and 9 of providers.md 4).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { post } from '../../support/client.ts'
import { startForwardProxy } from '../../support/forward-proxy.ts'
import { startEmulator } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import {
  anthropicBaseUrl,
  chatBaseUrl,
  googleBaseUrl,
  responsesBaseUrl,
  startProfileGateway,
  writeChatProfile,
  writeNativeProfile
} from '../../support/profile-gateway.ts'

const ORG = 'org-of-the-operator-4711'
const TENANT = 'tenant of the operator/42'
const PAIR = 'corp:proxy-password-0815'

const emulator = await startEmulator(t)
const proxy = await startForwardProxy(t, { credential: PAIR })

const more = {
  proxy: proxy.url,
  proxy_credential_env: 'PROXY_PAIR',
  headers: { 'x-team': 'research', 'X-Org': { env: 'ORG_ID' }, 'user-agent': 'corp-agent/1' },
  query: { 'api-version': '2026-10-01', tenant: { env: 'TENANT' } }
}
const wires = {
  chat: { kind: 'chat_compatible', baseUrl: chatBaseUrl(emulator, 'parts') },
  responses: { kind: 'chat_compatible', baseUrl: responsesBaseUrl(emulator, 'parts') },
  messages: { kind: 'messages_compatible', baseUrl: anthropicBaseUrl(emulator, 'parts') },
  content: { kind: 'content_compatible', baseUrl: googleBaseUrl(emulator, 'parts') }
} as const

const inventories = Object.entries(wires).filter(([name]) => name !== 'responses')

const gateway = await startProfileGateway(t, {
  profiles: [
    ...Object.entries(wires).map(([name, { kind, baseUrl }]) =>
      writeChatProfile({
        id: name,
        kind,
        baseUrl,
        aliases: [{ alias: `${name}/model` }, { alias: `${name}/embeddings` }],
        more: { ...more, ...(name === 'responses' && { wire: 'responses' }) }
      })
    ),
    ...inventories.map(([name, { kind, baseUrl }]) =>
      writeChatProfile({
        id: `${name}-inventory`,
        kind,
        baseUrl,
        aliases: [],
        more: {
          ...more,
          model_inventory: 'dynamic',
          public_prefix: `of-${name}/`,
          default_capabilities: { features: ['chat'], limits: { context_window: 8192 } }
        }
      })
    ),
    {
      ...writeNativeProfile({
        id: 'own',
        emulator,
        credentialEnv: 'NATIVE_KEY',
        aliases: [{ alias: 'own/model' }, { alias: 'own/embeddings', model: 'Embeddings' }]
      }),
      ...more
    }
  ],
  env: {
    ORG_ID: ORG,
    TENANT,
    PROXY_PAIR: PAIR,
    NATIVE_KEY: Buffer.from('a:b').toString('base64'),
    UPSTREAM_AUTH_URL: emulator.authUrl,
    GATEWAY_LOG_LEVEL: 'DEBUG'
  }
})

const CLIENT_HEADERS = {
  'x-team': 'of-the-client',
  'x-org': 'of-the-client',
  'user-agent': 'of-the-client',
  'x-custom': 'of-the-client',
  cookie: 'of=the-client'
}

/** The calls of every family: chats whole and streamed, embeddings and counts of tokens. */
const calls: ReadonlyArray<[path: (model: string) => string, body: (model: string) => object]> = [
  ...[false, true].flatMap(
    (stream): Array<[() => string, (model: string) => object]> => [
      [() => '/v1/chat/completions', model => ({ model, stream, messages: [{ role: 'user', content: 'hi' }] })],
      [() => '/v1/responses', model => ({ model, stream, input: 'hi' })],
      [() => '/v1/messages', model => ({ model, stream, max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] })]
    ]
  ),
  [
    model => `/v1beta/models/${model}:generateContent`,
    () => ({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })
  ],
  [
    model => `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    () => ({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })
  ],
  [() => '/v1/embeddings', model => ({ model: model.replace('model', 'embeddings'), input: 'hi' })],
  [() => '/v1/messages/count_tokens', model => ({ model, messages: [{ role: 'user', content: 'hi' }] })]
]

/** Checks what the proxy saw of one call to a provider; returns the last part of its path. */
function checkCall(t: Test, index: number): string {
  const url = new URL(proxy.seen[index]?.split(' ')[1] ?? '')
  t.strictSame(url.searchParams.getAll('api-version'), ['2026-10-01'])
  t.strictSame(url.searchParams.getAll('tenant'), [TENANT])
  t.match(proxy.headers[index], { 'x-team': 'research', 'x-org': ORG, 'user-agent': 'corp-agent/1' })
  const names = (proxy.rawHeaders[index] ?? []).filter((_text, at) => at % 2 === 0).map(text => text.toLowerCase())
  for (const header of ['x-team', 'x-org', 'user-agent']) {
    t.equal(names.filter(one => one === header).length, 1, header)
  }
  return url.pathname.split('/').at(-1)?.replace(/^.*:/, '') ?? ''
}

t.test('the lists of models bring them too', async t => {
  const lists = () => new Set(proxy.seen.filter(line => line.startsWith('GET ') && line.includes('/models?')))
  // The native profile is asked as well.
  const isListed = () => lists().size > inventories.length && emulator.requests.length === proxy.seen.length
  await waitUntil(isListed, 'each provider was asked for its models')
  for (const [index, line] of proxy.seen.entries()) {
    if (line.startsWith('GET ')) t.equal(checkCall(t, index), 'models')
  }
})

for (const name of [...Object.keys(wires), 'own']) {
  t.test(`providers 9: ${name}: each call brings the profile's headers and parameters once`, async t => {
    const model = `${name}/model`
    const operations = new Set<string>()
    for (const [path, body] of calls) {
      const [seen, received] = [proxy.seen.length, emulator.requests.length]
      const target = path(model)
      const { status, text } = await post(`${gateway.url}${target}`, body(model), {
        ...CLIENT_HEADERS,
        ...(target.includes('/messages') && { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'a-beta' })
      })
      // Not every wire has embeddings and counts.
      if (proxy.seen.length === seen && emulator.requests.length === received) continue
      t.equal(status, 200, `${target}: ${text}`)
      t.equal(proxy.seen.length - seen, emulator.requests.length - received, 'every call went through the proxy')
      for (const [index, line] of proxy.seen.slice(seen).entries()) {
        // The token server of the settings is no part of the profile's provider.
        if (line.endsWith('/oauth')) continue
        operations.add(checkCall(t, seen + index))
        const texts = proxy.rawHeaders[seen + index] ?? []
        if (name !== 'own') t.notMatch(texts.join('\n'), /of-the-client|of=the-client/)
      }
    }
    t.ok(operations.size >= 2, [...operations].join())
  })
}

t.test('what a provider repeats of the values reaches neither clients nor the log', async t => {
  for (const name of Object.keys(wires)) {
    const content = `[[error:400 message=org ${ORG} and ${encodeURIComponent(TENANT)} of ${PAIR} are unknown]]`
    const { status, text } = await post(`${gateway.url}/v1/chat/completions`, {
      model: `${name}/model`,
      messages: [{ role: 'user', content }]
    })
    t.equal(status, 400)
    t.match(text, /are unknown/)
    t.notMatch(text, new RegExp(`${ORG}|tenant%20of|proxy-password`))
  }
  t.equal(await gateway.stop(), 0)
  const log = readFileSync(join(gateway.folder, 'gateway.log'), 'utf8')
  t.match(log, /upstream_request/)
  const calls = log.split('\n').filter(line => /upstream_request"|upstream_call_failed/.test(line))
  t.ok(calls.length > 10)
  for (const secret of [ORG, TENANT, encodeURIComponent(TENANT), PAIR, Buffer.from(PAIR).toString('base64')]) {
    t.notOk(
      calls.some(line => line.includes(secret)),
      secret
    )
  }
})
