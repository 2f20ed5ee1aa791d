import t from 'tap'
import { writeToolCallId } from '../../../worker/normalized/index.ts'
import { lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { readTurns } from '../../support/turns.ts'
import { createPicture, listUploads } from '../../support/upstream.ts'
import { ask, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway()

const FILE_ID = /^[0-9a-f-]{36}$/
const see = { type: 'input_text', text: 'see' }
const image = (type = 'image/png') => ({
  type: 'input_image',
  image_url: `data:${type};base64,${createPicture()}`
})
const says = (...content: object[]) => [{ role: 'user', content }]
const ATTACHMENT_IDS = 'x-gateway-attachment-ids'

function sentMessages() {
  return lastUpstreamChat(emulator).body.messages
}

t.test('responses 34: a picture is uploaded and attached after the text', async t => {
  const before = listUploads(emulator).length
  t.equal((await ask(gateway, 'v2', says(see, image()))).status, 200)
  t.match(sentMessages(), [{ role: 'user', content: [{ text: 'see' }, { files: [{ id: FILE_ID }] }] }])
  t.equal((await ask(gateway, 'v1', says(image(), see))).status, 200)
  t.match(sentMessages(), [{ role: 'user', content: 'see', attachments: [FILE_ID] }])
  t.equal(listUploads(emulator).length, before + 2)
})

t.test('responses 35: a file is uploaded, whether its data is a data URL or bare', async t => {
  const before = listUploads(emulator).length
  for (const file_data of [`data:application/pdf;base64,${createPicture()}`, createPicture()]) {
    t.equal((await ask(gateway, 'v2', says(see, { type: 'input_file', filename: 'a.pdf', file_data }))).status, 200)
    t.match(sentMessages()[0].content, [{ text: 'see' }, { files: [{ id: FILE_ID }] }])
  }
  const uploads = listUploads(emulator).slice(before)
  t.equal(uploads.length, 2)
  for (const { body } of uploads) t.match(JSON.stringify(body), /a\.pdf/)
})

t.test('responses 36: a picture or a file with an id is attached without an upload', async t => {
  const before = listUploads(emulator).length
  for (const type of ['input_image', 'input_file']) {
    t.equal((await ask(gateway, 'v2', says(see, { type, file_id: 'f1' }))).status, 200)
    t.strictSame(sentMessages()[0].content, [{ text: 'see' }, { files: [{ id: 'f1' }] }])
  }
  t.equal(listUploads(emulator).length, before)
})

t.test('responses 37: files named in the header are attached to the last message of the user', async t => {
  const before = listUploads(emulator).length
  const input = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
    { role: 'user', content: 'c' }
  ]
  t.equal((await ask(gateway, 'v2', input, {}, { [ATTACHMENT_IDS]: 'f1, f2' })).status, 200)
  t.strictSame(
    sentMessages().map(({ content }: { content: unknown }) => content),
    [[{ text: 'a' }], [{ text: 'b' }], [{ text: 'c' }, { files: [{ id: 'f1' }, { id: 'f2' }] }]]
  )
  t.equal((await ask(gateway, 'v1', input, {}, { [ATTACHMENT_IDS]: 'f1,f2' })).status, 200)
  t.strictSame(sentMessages()[2], { role: 'user', content: 'c', attachments: ['f1', 'f2'] })
  t.equal(listUploads(emulator).length, before)
  t.notOk(ATTACHMENT_IDS in lastUpstreamChat(emulator).headers)
})

t.test('responses 38: a header that is not a list of different ids is refused', async t => {
  const before = upstreamChats(emulator).length
  const tooMany = Array.from({ length: 11 }, (_, index) => `f${index}`).join(',')
  for (const header of ['f1,f1', 'f1,,f2', 'f 1', '../x', 'x'.repeat(201), tooMany]) {
    const httpResponse = await ask(gateway, 'v2', 'x', {}, { [ATTACHMENT_IDS]: header })
    t.equal(httpResponse.status, 400, header)
    t.match(httpResponse.json.error, { code: 'invalid_attachment_ids', param: ATTACHMENT_IDS })
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('a picture type that the upstream does not support is refused', async t => {
  for (const version of versions) {
    const httpResponse = await ask(gateway, version, says(see, image('image/webp')))
    t.equal(httpResponse.status, 415)
    t.match(httpResponse.json.error, { code: 'unsupported_media_type', param: 'attachments' })
  }
})

const call = (id: string, more: object = {}) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'weather',
  arguments: '{"city":"Omsk"}',
  ...more
})
const output = (id: string, value: unknown = 'cold') => ({ type: 'function_call_output', call_id: id, output: value })
const question = { role: 'user', content: [{ type: 'input_text', text: 'weather?' }] }

t.test('responses 39: a call and its output are sent back with the state of the call', async t => {
  const id = writeToolCallId({ stateId: 'st1', name: undefined, callNumber: 0, nonce: 'n' })
  const input = [question, call(id), output(id)]
  t.equal((await ask(gateway, 'v2', input)).status, 200)
  t.strictSame(sentMessages(), [
    { role: 'user', content: [{ text: 'weather?' }] },
    {
      role: 'assistant',
      content: [{ function_call: { name: 'weather', arguments: { city: 'Omsk' } } }],
      tools_state_id: 'st1'
    },
    {
      role: 'tool',
      content: [{ function_result: { name: 'weather', result: { result: 'cold' } } }],
      tools_state_id: 'st1'
    }
  ])
  t.equal((await ask(gateway, 'v1', input)).status, 200)
  t.strictSame(sentMessages(), [
    { role: 'user', content: 'weather?' },
    { role: 'assistant', content: '', function_call: { name: 'weather', arguments: { city: 'Omsk' } } },
    { role: 'function', name: 'weather', content: '{"result":"cold"}' }
  ])
})

t.test('responses 40: two calls and two outputs keep their ids, names and order', async t => {
  const id = (name: string, callNumber: number) => writeToolCallId({ stateId: 'ts-1', name, callNumber, nonce: 'n' })
  const weather = id('weather', 0)
  const time = id('time', 1)
  const input = [
    question,
    call(weather),
    call(time, { name: 'time', arguments: '' }),
    output(time, '{"now":"12:00"}'),
    output(weather)
  ]
  t.equal((await ask(gateway, 'v2', input)).status, 200)
  t.strictSame(sentMessages().slice(1), [
    {
      role: 'assistant',
      content: [
        { function_call: { name: 'weather', arguments: { city: 'Omsk' } } },
        { function_call: { name: 'time', arguments: {} } }
      ],
      tools_state_id: 'ts-1'
    },
    {
      role: 'tool',
      content: [{ function_result: { name: 'weather', result: { result: 'cold' } } }],
      tools_state_id: 'ts-1'
    },
    {
      role: 'tool',
      content: [{ function_result: { name: 'time', result: { now: '12:00' } } }],
      tools_state_id: 'ts-1'
    }
  ])
  const plain = [question, call('a'), call('b', { name: 'time' }), output('b', '{"now":"12:00"}'), output('a')]
  t.equal((await ask(gateway, 'v1', plain)).status, 200)
  t.strictSame(
    sentMessages().map((message: { role: string; name?: string }) => [message.role, message.name]),
    [
      ['user', undefined],
      ['assistant', undefined],
      ['function', 'weather'],
      ['assistant', undefined],
      ['function', 'time']
    ]
  )
})

t.test('responses 41: a call with malformed arguments is sent with their text and its result', async t => {
  for (const version of versions) {
    for (const text of ['{bad', '{"city":"Om', '[1]']) {
      t.equal((await ask(gateway, version, [question, call('st1', { arguments: text }), output('st1')])).status, 200)
      t.strictSame(readTurns(lastUpstreamChat(emulator).body), [
        { role: 'user', text: 'weather?' },
        { role: 'assistant', calls: [['weather', { arguments: text }]] },
        { role: 'tool', results: [['weather', { result: 'cold' }]] }
      ])
    }
    t.equal((await ask(gateway, version, [question, call('st1', { arguments: '{bad' })])).status, 200)
    t.strictSame(readTurns(lastUpstreamChat(emulator).body), [{ role: 'user', text: 'weather?' }])
  }
})

t.test(
  'decisions.md 51: a cut call of the history is left out without a result, and has its text with one',
  async t => {
    const again = { role: 'user', content: 'and?' }
    const weatherTurns = (args: object) => [
      { role: 'assistant', calls: [['weather', args]] },
      { role: 'tool', results: [['weather', { result: 'cold' }]] }
    ]
    for (const version of versions) {
      for (const [more, args] of [
        [{ arguments: '{"ci' }, { arguments: '{"ci' }],
        [{ arguments: '{"ci', status: 'incomplete' }, { arguments: '{"ci' }],
        [{ status: 'incomplete' }, { city: 'Omsk' }]
      ] as const) {
        const cut = call('st1', more)
        for (const [items, expected] of [
          [[cut, output('st1')], weatherTurns(args)],
          [[cut, call('st2'), output('st2')], weatherTurns({ city: 'Omsk' })],
          [[cut], []]
        ] as const) {
          for (const isStream of [false, true]) {
            const input = [question, ...items, { role: 'assistant', content: 'so' }, again]
            t.equal((await ask(gateway, version, input, { stream: isStream })).status, 200)
            t.strictSame(readTurns(lastUpstreamChat(emulator).body), [
              { role: 'user', text: 'weather?' },
              ...expected,
              { role: 'assistant', text: 'so' },
              { role: 'user', text: 'and?' }
            ])
          }
        }
      }
    }
  }
)

t.test('decisions.md 53: a reference to an item is refused with its path and with what to do', async t => {
  const before = upstreamChats(emulator).length
  for (const version of versions) {
    for (const reference of [{ type: 'item_reference', id: 'msg_1' }, { id: 'msg_1' }]) {
      for (const stream of [false, true]) {
        const httpResponse = await ask(gateway, version, [question, reference], { stream })
        t.equal(httpResponse.status, 400)
        t.match(httpResponse.json.error, {
          code: 'invalid_request',
          type: 'invalid_request_error',
          param: 'input[1].id',
          message: /^Item with id 'msg_1' not found\. Items are not stored; send `store: false`/
        })
      }
    }
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('decisions.md 64: calls and results in the form of chat completions are accepted in the input', async t => {
  const chatCall = { id: 'st1', type: 'function', function: { name: 'weather', arguments: '{"city":"Omsk"}' } }
  const legacyCall = { name: 'weather', arguments: '{"city":"Omsk"}' }
  for (const version of versions) {
    for (const items of [
      [
        { role: 'assistant', content: null, tool_calls: [chatCall] },
        { role: 'tool', tool_call_id: 'st1', content: 'cold' }
      ],
      [
        { role: 'assistant', content: '', function_call: legacyCall },
        { role: 'function', name: 'weather', content: 'cold' }
      ]
    ]) {
      t.equal((await ask(gateway, version, [question, ...items])).status, 200)
      t.strictSame(readTurns(lastUpstreamChat(emulator).body), [
        { role: 'user', text: 'weather?' },
        { role: 'assistant', calls: [['weather', { city: 'Omsk' }]] },
        { role: 'tool', results: [['weather', { result: 'cold' }]] }
      ])
    }
  }
})

t.test('responses 42: the content of an output becomes an object', async t => {
  const cases: Array<[unknown, object]> = [
    [[{ type: 'input_text', text: 'T' }], { result: 'T' }],
    [
      [
        { type: 'input_text', text: 'T' },
        { type: 'input_text', text: 'U' }
      ],
      { result: 'T\nU' }
    ],
    ['{"k":1}', { k: 1 }],
    ['[1,2]', { result: [1, 2] }],
    ['', {}]
  ]
  for (const [value, expected] of cases) {
    t.equal((await ask(gateway, 'v2', [question, call('st1'), output('st1', value)])).status, 200)
    t.strictSame(sentMessages().at(-1).content[0].function_result.result, expected)
    t.equal((await ask(gateway, 'v1', [question, call('st1'), output('st1', value)])).status, 200)
    t.strictSame(JSON.parse(sentMessages().at(-1).content), expected)
  }
})

t.test('responses 43: items without meaning for the upstream are skipped (C1)', async t => {
  const input = [
    question,
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'secret' }], encrypted_content: 'gAAA' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
    { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAEC' },
    { type: 'code_interpreter_call', id: 'ci_1', code: 'x', container_id: 'c', outputs: null, status: 'completed' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'mild', annotations: [] }] },
    { role: 'user', content: 'thanks' }
  ]
  t.equal((await ask(gateway, 'v1', input)).status, 200)
  t.strictSame(sentMessages(), [
    { role: 'user', content: 'weather?' },
    { role: 'assistant', content: 'mild' },
    { role: 'user', content: 'thanks' }
  ])
  t.equal((await ask(gateway, 'v2', input)).status, 200)
  t.notMatch(JSON.stringify(sentMessages()), /secret|gAAA|AAEC/)
})

t.test(
  'a local shell call is kept with its output, in either form, as are those of functions (decisions.md 75)',
  async t => {
    const shell = (callId: string) => ({
      type: 'local_shell_call',
      id: `lsh_${callId}`,
      call_id: callId,
      status: 'completed',
      action: { type: 'exec', command: ['ls'], env: {} }
    })
    const input = [
      question,
      shell('s1'),
      { type: 'local_shell_call_output', id: 's1', output: 'a.txt' },
      shell('s2'),
      output('s2', 'b.txt'),
      call('st1'),
      output('st1')
    ]
    const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }, { type: 'local_shell' }]
    t.equal((await ask(gateway, 'v1', input, { tools })).status, 200)
    const run = { name: 'local_shell', arguments: { type: 'exec', command: ['ls'], env: {} } }
    t.strictSame(sentMessages(), [
      { role: 'user', content: 'weather?' },
      { role: 'assistant', content: '', function_call: run },
      { role: 'function', name: 'local_shell', content: '{"result":"a.txt"}' },
      { role: 'assistant', content: '', function_call: run },
      { role: 'function', name: 'local_shell', content: '{"result":"b.txt"}' },
      { role: 'assistant', content: '', function_call: { name: 'weather', arguments: { city: 'Omsk' } } },
      { role: 'function', name: 'weather', content: '{"result":"cold"}' }
    ])
    const { status, json } = await ask(gateway, 'v2', input, { tools })
    t.match({ status, json }, { status: 200, json: { status: 'completed' } })
    t.match(
      sentMessages().map(({ role }: { role: string }) => role),
      ['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant', 'tool']
    )
  }
)

t.test('responses 46: a call of a namespace is sent back under its declared name', async t => {
  const tools = [
    { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }] }
  ]
  const input = [question, call('st1', { name: 'f', namespace: 'ns' }), output('st1')]
  for (const version of versions) {
    t.equal((await ask(gateway, version, input, { tools })).status, 200)
    const text = JSON.stringify(lastUpstreamChat(emulator).body)
    t.equal(text.match(/"name":"ns__f"/g)?.length, 3, 'declared, called and returned')
    t.notMatch(text, /namespace/)
  }
})

t.test('a picture inside an output is attached to the next user message', async t => {
  const output = [
    { type: 'input_text', text: 'done' },
    { ...image(), detail: 'high' }
  ]
  const input = [question, call('st1'), { type: 'function_call_output', call_id: 'st1', output }]
  t.equal((await ask(gateway, 'v2', input)).status, 200)
  t.match(sentMessages().slice(2), [
    { role: 'tool', content: [{ function_result: { result: { result: 'done' } } }] },
    { role: 'user', content: [{ text: '' }, { files: [{ id: FILE_ID }] }] }
  ])
  t.equal((await ask(gateway, 'v1', [...input, { role: 'user', content: 'and?' }])).status, 200)
  t.match(sentMessages().slice(2), [
    { role: 'function', content: '{"result":"done"}' },
    { role: 'user', content: 'and?', attachments: [FILE_ID] }
  ])
})
