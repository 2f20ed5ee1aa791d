// What clients of the native upstream send beside their own service's forms (decisions.md 60 and
// 64), through a started gateway.

import t from 'tap'
import { lastUpstreamChat, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { createPicture } from '../../support/upstream.ts'
import { ask, model, textPart, versions } from './support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: emulatorVariables(emulator) })
const stateId = '019e8373-aaaa-7883-af60-000000000001'

async function sendChat(version: 'v1' | 'v2', messages: object[], more: object = {}) {
  const response = await post(`${gateway.url}/${version}/chat/completions`, { model, messages, ...more })
  if (response.status !== 200) throw new Error(response.text)
  return lastUpstreamChat(emulator).body
}

async function sendContents(version: 'v1' | 'v2', contents: object[]) {
  const response = await post(`${gateway.url}/${version}/v1beta/models/${model}:generateContent`, { contents })
  if (response.status !== 200) throw new Error(response.text)
  return lastUpstreamChat(emulator).body.messages
}

async function upload(): Promise<string> {
  const url = `data:image/png;base64,${createPicture()}`
  await ask(gateway, 'v1', [textPart('x'), { type: 'image_url', image_url: { url } }])
  const [id] = lastUpstreamChat(emulator).body.messages[0].attachments
  return id
}

t.test('decisions.md 60: texts of one turn of a content history are one text, also with calls among them', async t => {
  const call = (id: string) => ({ functionCall: { id, name: 'f', args: {} } })
  const result = (id: string) => ({ functionResponse: { id, name: 'f', response: { ok: 1 } } })
  const contents = [
    { role: 'user', parts: [{ text: 'Do ' }, { text: 'it' }] },
    { role: 'model', parts: [{ text: 'Let me ' }, call('a'), { text: 'look.' }] },
    { role: 'user', parts: [result('a')] },
    { role: 'model', parts: [{ text: 'Do' }, { text: 'ne.' }] },
    { role: 'user', parts: [{ text: 'Thanks' }] }
  ]
  const v1 = await sendContents('v1', contents)
  t.strictSame(
    v1.map((message: { content: string }) => message.content),
    ['Do it', 'Let me look.', '{"ok":1}', 'Done.', 'Thanks']
  )
  const v2 = await sendContents('v2', contents)
  t.strictSame(v2[0].content, [{ text: 'Do it' }])
  t.strictSame(v2[1].content, [{ text: 'Let me look.' }, { function_call: { name: 'f', arguments: {} } }])
  t.strictSame(v2[3].content, [{ text: 'Done.' }])
})

t.test(
  'decisions.md 64: ids of uploaded files in `attachments` of a message are sent on, on both contracts',
  async t => {
    const ids = [await upload(), await upload(), await upload()]
    const messages = [
      { role: 'user', content: 'Look.', attachments: ids },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: 'And?', attachments: null }
    ]
    t.strictSame((await sendChat('v1', messages)).messages[0], { role: 'user', content: 'Look.', attachments: ids })
    t.strictSame((await sendChat('v2', messages)).messages[0], {
      role: 'user',
      content: [{ text: 'Look.' }, { files: ids.map(id => ({ id })) }]
    })
    for (const attachments of [[1], 'id', ['']]) {
      const refused = await post(`${gateway.url}/v1/chat/completions`, {
        model,
        messages: [{ role: 'user', content: 'x', attachments }]
      })
      t.equal(refused.status, 400)
      t.match(refused.json.error.param, /^messages\[0\]\.attachments/)
    }
  }
)

t.test(
  'decisions.md 64: an object as the result of a tool is sent as its JSON, in every family that has one',
  async t => {
    const answer = { temp: 4, sky: 'grey' }
    const toolCall = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }
    for (const version of versions) {
      const sent: object[][] = []
      const body = await sendChat(version, [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: null, tool_calls: [toolCall] },
        { role: 'tool', tool_call_id: 'call_1', content: answer }
      ])
      sent.push(body.messages)
      for (const [path, request] of [
        [
          'messages',
          {
            model,
            max_tokens: 9,
            messages: [
              { role: 'user', content: 'x' },
              { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
              { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: answer }] }
            ]
          }
        ],
        [
          'responses',
          {
            model,
            input: [
              { role: 'user', content: 'x' },
              { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
              { type: 'function_call_output', call_id: 'call_1', output: answer }
            ]
          }
        ]
      ] as const) {
        t.equal((await post(`${gateway.url}/${version}/${path}`, request)).status, 200, path)
        sent.push(lastUpstreamChat(emulator).body.messages)
      }
      for (const messages of sent) {
        if (version === 'v1') t.match(messages.at(-1), { role: 'function', name: 'f', content: JSON.stringify(answer) })
        else t.match(messages.at(-1), { role: 'tool', content: [{ function_result: { name: 'f', result: answer } }] })
      }
    }
  }
)

t.test('decisions.md 64: a state id that stands only on the result message is sent on v2 and never on v1', async t => {
  const toolCall = { id: 'call_9', type: 'function', function: { name: 'f', arguments: '{}' } }
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: null, tool_calls: [toolCall] },
    { role: 'tool', tool_call_id: 'call_9', tools_state_id: stateId, content: '{}' }
  ]
  const { messages: sent } = await sendChat('v2', messages)
  t.match(sent.slice(1), [{ tools_state_id: stateId }, { tools_state_id: stateId }])
  t.notMatch(JSON.stringify(await sendChat('v1', messages)), stateId)
})

t.test('decisions.md 64: tools in the upstream’s own shape are sent on v2, from every family', async t => {
  const specification = { name: 'f', parameters: { type: 'object', properties: {} } }
  const tools = [{ web_search: { indexes: ['w'] } }, { functions: { specifications: [specification] } }]
  const expected = [{ web_search: { indexes: ['w'] } }, { functions: { specifications: [specification] } }]
  const body = await sendChat('v2', [{ role: 'user', content: 'x' }], { tools })
  t.strictSame(body.tools, expected)
  const response = await post(`${gateway.url}/v2/responses`, { model, input: 'x', tools })
  t.strictSame(lastUpstreamChat(emulator).body.tools, expected)
  t.strictSame(response.json.tools[0], { indexes: ['w'], type: 'web_search' }, 'the echo has the form of the SDK')
  const messages = [{ role: 'user', content: 'x' }]
  await post(`${gateway.url}/v2/messages`, { model, max_tokens: 9, messages, tools: [{ code_interpreter: {} }] })
  t.strictSame(lastUpstreamChat(emulator).body.tools, [{ code_interpreter: {} }])
  const contents = [{ role: 'user', parts: [{ text: 'x' }] }]
  await post(`${gateway.url}/v2/v1beta/models/${model}:generateContent`, { contents, tools: [{ web_search: {} }] })
  t.strictSame(lastUpstreamChat(emulator).body.tools, [{ web_search: {} }])
  t.notOk('tools' in (await sendChat('v1', messages, { tools: tools.slice(0, 1) })))
})

t.test('decisions.md 64: the time zone of a search tool is the upstream’s user info', async t => {
  const user_location = { type: 'approximate', timezone: 'Europe/Oslo' }
  const messages = [{ role: 'user', content: 'x' }]
  const search = { type: 'web_search', user_location }
  const zone = { timezone: 'Europe/Oslo' }
  t.strictSame((await sendChat('v2', messages, { tools: [search] })).user_info, zone)
  await post(`${gateway.url}/v2/responses`, { model, input: 'x', tools: [{ ...search, type: 'web_search_preview' }] })
  t.strictSame(lastUpstreamChat(emulator).body.user_info, zone)
  const hosted = { type: 'web_search_20250305', name: 'web_search', user_location }
  await post(`${gateway.url}/v2/messages`, { model, max_tokens: 9, messages, tools: [hosted] })
  t.strictSame(lastUpstreamChat(emulator).body.user_info, zone)
  const own = { tools: [search], extra_body: { user_info: { timezone: 'Asia/Tokyo' } } }
  t.strictSame((await sendChat('v2', messages, own)).user_info, { timezone: 'Asia/Tokyo' }, 'the client’s own wins')
  t.notOk('user_info' in (await sendChat('v1', messages, { tools: [search] })))
})

t.test('decisions.md 64: a result that repeats an id of the same turn is sent once', async t => {
  const response = { functionResponse: { id: 'c', name: 'f', response: { ok: 1 } } }
  const contents = [
    { role: 'user', parts: [{ text: 'x' }] },
    { role: 'model', parts: [{ functionCall: { id: 'c', name: 'f', args: {} } }] },
    { role: 'user', parts: [response, response] }
  ]
  for (const [version, role] of [
    ['v1', 'function'],
    ['v2', 'tool']
  ] as const) {
    const sent: Array<{ role: string }> = await sendContents(version, contents)
    t.strictSame(
      sent.map(message => message.role),
      ['user', 'assistant', role]
    )
  }
})
