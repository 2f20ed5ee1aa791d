import t, { type Test } from 'tap'
import { picture } from '../../../ops/emulator/builtins.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { accumulate, ask, callsOf, type Loose, stream, textOf, tool, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway()
const search = { tools: [{ type: 'web_search' }] }
const image = { tools: [{ type: 'image_generation' }] }

function downloads() {
  return emulator.requests.filter(({ method, path }) => method === 'GET' && /\/files\/[^/]+\/content$/.test(path))
}

t.test('responses 54, 55: a truncated response is incomplete and names the reason', async t => {
  for (const version of versions) {
    for (const [word, reason] of [
      ['length', 'max_output_tokens'],
      ['blacklist', 'content_filter'],
      ['content_filter', 'content_filter']
    ] as const) {
      const { json } = await ask(gateway, version, `[[finish:${word}]][[text:half]]`)
      t.match(json, {
        status: 'incomplete',
        incomplete_details: { reason },
        error: null,
        output: [{ type: 'message', status: 'incomplete', content: [{ text: 'half' }] }]
      })
      // Absent before decisions.md 91.
      t.equal(json.completed_at, null)
    }
    const failed = await ask(gateway, version, '[[finish:error]]')
    t.equal(failed.status, 500)
    t.equal(failed.json.error.code, 'upstream_generation_error')
  }
})

t.test('responses 56: reasoning is an item before the message', async t => {
  for (const version of versions) {
    for (const prompt of ['[[reason:because]][[text:so]]', '[[text:<think>because</think>so]]']) {
      const { json } = await ask(gateway, version, prompt)
      t.match(json.output, [
        { type: 'reasoning', id: /^rs_/, summary: [{ type: 'summary_text', text: 'because' }] },
        { type: 'message', id: /^msg_/, content: [{ type: 'output_text', text: 'so', logprobs: [], annotations: [] }] }
      ])
      t.equal(json.output.length, 2)
      t.notOk('status' in json.output[0] || 'encrypted_content' in json.output[0])
    }
  }
})

t.test('responses 57: token details are numbers (D3)', async t => {
  for (const version of versions) {
    const { json } = await ask(gateway, version, '[[usage:10,5,4]]')
    t.match(json.usage, {
      input_tokens: 10,
      output_tokens: 5,
      total_tokens: 15,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 }
    })
    t.strictSame((await stream(gateway, version, '[[usage:10,5,4]]')).response.usage, json.usage)
    t.equal((await ask(gateway, version, '[[nousage]]')).json.usage, null)
  }
})

/** The text part of the only message, after checking that its citations lie inside the text. */
function checkCitations(t: Test, response: Loose): Loose {
  const [part] = response.output.find((item: Loose) => item.type === 'message').content
  t.notMatch(part.text, /\[sources=/)
  t.match(part.text, /\n\nSources:\n- \[The first page\]\(https:\/\/example\.test\/first\)/)
  for (const citation of part.annotations) {
    t.match(citation, { type: 'url_citation', url: /^https:/, title: String })
    t.ok(citation.start_index >= 0 && citation.start_index <= citation.end_index)
    t.ok(citation.end_index <= part.text.length)
  }
  return part
}

t.test('responses 58: a search is an item with sources, and its citations lie inside the text', async t => {
  const { json } = await ask(gateway, 'v2', '[[builtin:web_search]]', search)
  t.match(json.output, [
    {
      type: 'web_search_call',
      id: /^ws_/,
      status: 'completed',
      action: {
        type: 'search',
        query: '[[builtin:web_search]]',
        sources: [
          { type: 'url', url: 'https://example.test/first' },
          { type: 'url', url: 'https://example.test/second' }
        ]
      }
    },
    { type: 'message' }
  ])
  t.ok(checkCitations(t, json).annotations.length > 0)

  t.comment('one marker alone is one citation')
  const inline_data = { sources: { 1: { url: 'https://example.test/first', title: 'The first page' } } }
  emulator.respondNext({
    body: {
      model: 'GigaChat-2:2.0.28.2',
      created_at: 1,
      messages: [{ role: 'assistant', content: [{ text: 'News [sources=[1]].', inline_data }] }],
      finish_reason: 'stop'
    }
  })
  const one = await ask(gateway, 'v2', 'news?', search)
  t.equal(checkCitations(t, one.json).annotations.length, 1)
})

t.test('responses 59: a generated picture is fetched and returned as base64', async t => {
  const before = downloads().length
  const { json } = await ask(gateway, 'v2', '[[builtin:image_generate]][[text:""]]', image)
  t.equal(downloads().length, before + 1)
  const item = json.output.find((one: Loose) => one.type === 'image_generation_call')
  t.match(item, { id: /^ig_/, status: 'completed', mime: 'image/jpeg', target: 'image', file_id: String })
  t.equal(item.result, picture.toString('base64'))

  t.comment('a picture that cannot be fetched is an item without one')
  emulator.failNext({ path: '/files/*/content', status: 500, times: 3 })
  const without = await ask(gateway, 'v2', '[[builtin:image_generate]]', image)
  t.equal(without.status, 200)
  t.match(
    without.json.output.find((one: Loose) => one.type === 'image_generation_call'),
    { result: null }
  )
})

t.test('responses 60: a generated picture becomes a call of the client’s image tool', async t => {
  const tools = [...image.tools, tool('imagegen')]
  const prompt = 'a yellow square [[builtin:image_generate]]'
  for (const response of [
    (await ask(gateway, 'v2', prompt, { tools })).json,
    (await stream(gateway, 'v2', prompt, { tools })).response
  ]) {
    t.notOk(response.output.some((item: Loose) => item.type === 'image_generation_call'))
    const [call] = callsOf(response)
    t.match(call, { name: 'imagegen', status: 'completed', call_id: /^[a-zA-Z0-9_-]{1,128}$/ })
    t.match(JSON.parse(call.arguments), { prompt: /a yellow square/ })
  }
})

t.test('the accumulated stream equals the whole response (F3)', async t => {
  for (const version of versions) {
    for (const prompt of [
      '[[text:plain]]',
      '[[reason:r]][[text:t]]',
      '[[finish:length]]',
      '[[text:x]][[tool:g {"a":1}]]'
    ]) {
      const more = { tools: [tool('g')] }
      const whole = (await ask(gateway, version, prompt, more)).json
      const { response } = await stream(gateway, version, prompt, more)
      const accumulated = await accumulate(gateway, version, prompt, more)
      for (const other of [response, accumulated as Loose]) {
        t.equal(textOf(other), textOf(whole))
        t.equal(other.status, whole.status)
        t.strictSame(other.usage, whole.usage)
        t.strictSame(
          other.output.map((item: Loose) => [item.type, item.arguments]),
          whole.output.map((item: Loose) => [item.type, item.arguments])
        )
      }
    }
  }
})
