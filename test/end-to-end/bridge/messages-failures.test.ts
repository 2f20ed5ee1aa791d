// How failures of a messages_compatible provider show in every client protocol (bridge.md 8.7),
// with the detailed ids in the log; and streams over time.

import t, { type Test } from 'tap'
import type { HttpResponse } from '../../support/client.ts'
import { readLog } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { readEnd } from '../system/support.ts'
import { ask, type Failure, type Family, families, openStream, send } from './families.ts'
import { messagesAliases as aliases, startMessagesBridge } from './messages-support.ts'

const { gateway, emulator } = await startMessagesBridge(t)
const model = aliases.keyed

/** What a client sees of a status: in the words of completions and Responses, messages, content. */
interface Expected {
  status: number
  code: string | null
  type: string
  messages: string
  content: string
  /** Whether the provider's own words are shown. */
  isTold: boolean
}

const failed = { code: 'provider_failure', type: 'server_error', isTold: false }
const refused = { code: null, type: 'invalid_request_error', content: 'INVALID_ARGUMENT' }
const operatorProblem = { ...failed, status: 502, messages: 'api_error', content: 'UNAVAILABLE' }
const timeout = {
  ...failed,
  status: 504,
  code: 'provider_timeout',
  messages: 'timeout_error',
  content: 'DEADLINE_EXCEEDED'
}
const limited = { code: null, type: 'rate_limit_error', messages: 'rate_limit_error', content: 'RESOURCE_EXHAUSTED' }

const statuses: ReadonlyArray<[number, Expected]> = [
  [400, { ...refused, status: 400, messages: 'invalid_request_error', isTold: true }],
  [401, operatorProblem],
  [402, operatorProblem],
  [403, operatorProblem],
  [404, operatorProblem],
  [408, timeout],
  [413, { ...refused, status: 413, messages: 'request_too_large', isTold: true }],
  [422, { ...refused, status: 422, messages: 'invalid_request_error', isTold: true }],
  [429, { ...limited, status: 429, isTold: true }],
  [500, { ...failed, status: 500, messages: 'api_error', content: 'INTERNAL' }],
  [502, { ...failed, status: 502, messages: 'api_error', content: 'UNAVAILABLE' }],
  [503, { ...failed, status: 503, messages: 'overloaded_error', content: 'UNAVAILABLE' }],
  [504, timeout],
  // The wire's own status of an overloaded service.
  [529, { ...failed, status: 503, messages: 'overloaded_error', content: 'UNAVAILABLE' }]
]

function checkFailure(t: Test, family: Family, failure: Failure, expected: Expected): void {
  const type = family.name === 'messages' || family.name === 'content' ? expected[family.name] : expected.type
  t.equal(failure.type, type)
  if (expected.code !== null) t.equal(failure.code, expected.code)
}

/** The log line about the failed call of a response, as text. */
async function readCause({ headers }: HttpResponse): Promise<string> {
  const id = headers.get('x-request-id')
  const find = () => readLog(gateway).find(line => line.event === 'upstream_call_failed' && line.request_id === id)
  await waitUntil(() => find() !== undefined, 'the log has the failed call')
  return JSON.stringify(find())
}

for (const family of families) {
  const put = (prompt: string, isStream = false, more: object = {}) =>
    send(gateway.url, family, { model, prompt, isStream, more })

  for (const isStream of [false, true]) {
    const how = `${family.name}, ${isStream ? 'before a stream' : 'whole'}`

    t.test(`bridge 84: a provider's status is the client's as the contract maps it: ${how}`, async t => {
      for (const [status, expected] of statuses) {
        const response = await put(`[[error:${status} retry=7 json message=These are my words]]`, isStream)
        t.equal(response.status, expected.status, `${status}: ${response.text}`)
        const failure = family.readFailure(response)
        checkFailure(t, family, failure, expected)
        if (expected.isTold) t.match(failure.message, /These are my words/)
        else t.notMatch(failure.message, /my words/)
        const hasWait = expected.status === 429 || expected.status === 503
        t.equal(response.headers.get('retry-after'), hasWait ? '7' : null, String(status))
      }
    })

    t.test(`bridge 85: a redirect is not followed: ${how}`, async t => {
      const before = emulator.requests.length
      const response = await put(`[[redirect:302 ${emulator.baseUrl}/models]]`, isStream)
      t.equal(response.status, 502)
      t.equal(family.readFailure(response).code, 'destination_mismatch')
      t.equal(emulator.requests.length - before, 1)
    })
  }

  t.test(
    `bridge 86: a response that breaks the wire's rules is 502, with its id in the log: ${family.name}`,
    async t => {
      const cases: ReadonlyArray<[string, string]> = [
        ['[[badjson]]', 'invalid_json_response'],
        ['[[badjson:array]]', 'invalid_json_response'],
        ['[[badjson:object]]', 'invalid_message_content'],
        ['[[bigtext:1100000]]', 'response_too_large'],
        ['[[malformed:invalid_json_response]]', 'invalid_json_response'],
        ['[[malformed:response_not_object]]', 'invalid_json_response'],
        ['[[malformed:invalid_content_block]]', 'invalid_message_content'],
        ...['invalid_message_content', 'invalid_finish_reason', 'invalid_tool_call', 'invalid_usage'].map(
          id => [`[[malformed:${id}]]`, id] as [string, string]
        )
      ]
      for (const [prompt, id] of cases) {
        const response = await put(prompt)
        t.equal(response.status, 502, prompt)
        t.equal(family.readFailure(response).code, 'provider_protocol_error', prompt)
        t.notMatch(response.text, new RegExp(id), 'the detailed id is in the log only')
        t.match(await readCause(response), new RegExp(id), prompt)
      }
    }
  )

  t.test(`bridge 92: a stream that breaks after its first delta ends with one error: ${family.name}`, async t => {
    const ids = [
      'invalid_stream_json',
      'invalid_stream_chunk',
      'invalid_stream_block',
      'invalid_stream_delta',
      'invalid_stream_content',
      'invalid_finish_reason',
      'invalid_usage',
      'duplicate_stream_start',
      'stream_data_after_terminal',
      'duplicate_stream_terminal',
      'incomplete_stream'
    ]
    const prompts = [...ids.map(id => `[[malformed:${id}]]`), '[[errframe]]', '[[die]]', '[[noeof]]', '[[badframe]]']
    for (const prompt of prompts) {
      const response = await put(`${prompt}[[chunks:one |two |three]]`, true)
      t.equal(response.status, 200, `${prompt}: ${response.text}`)
      t.match(response.text, /one /, `${prompt}: the delta before it is delivered`)
      t.ok(family.readStreamFailure(response.text), `${prompt}: ${response.text}`)
      t.equal(readEnd(family.name, response.text), 'error', `${prompt}: one end`)
      t.notMatch(response.text, /"response\.completed"|message_stop|"finishReason":"STOP"/, `${prompt}: no success`)
      if (family.name === 'completions') t.notMatch(response.text, /"finish_reason":"stop"/, prompt)
      const id = /malformed:(\w+)/.exec(prompt)?.[1]
      const cause = await readCause(response)
      if (id !== undefined) t.match(cause, new RegExp(id), prompt)
    }
  })

  t.test(`bridge 91: a refusal before the stream is an HTTP error: ${family.name}`, async t => {
    for (const prompt of ['[[error:401]]', '[[malformed:stream_data_before_start]]']) {
      const response = await put(prompt, true)
      t.equal(response.status, 502, prompt)
      t.match(response.headers.get('content-type'), /^application\/json/)
      t.match(family.readFailure(response).code, /^provider_(failure|protocol_error)$/)
    }
    const inBody = await put('[[okerror:429 message=Slow down]]', true)
    t.equal(inBody.status, 429, inBody.text)
    t.match(family.readFailure(inBody).message, /Slow down/)
  })

  t.test(
    `bridge 93: a client that leaves after the first delta ends the call to the provider: ${family.name}`,
    async t => {
      const before = emulator.stats.aborted
      const question = { model, prompt: '[[tick:20]][[len:5000]]', isStream: true }
      const controller = new AbortController()
      const response = await openStream(gateway.url, family, question, controller.signal)
      t.equal(response.status, 200)
      const reader = response.body?.getReader()
      for (let text = ''; !text.includes('word1'); ) text += Buffer.from((await reader?.read())?.value ?? []).toString()
      controller.abort()
      await emulator.waitFor(({ stats }) => stats.aborted > before, 5_000)
    }
  )

  t.test(`a stream is read however it is framed and cut, and without its end marker: ${family.name}`, async t => {
    for (const form of [
      '[[crlf]]',
      '[[split:1]]',
      '[[ping]]',
      '[[noname]]',
      '[[nospace]]',
      '[[gzip]]',
      '[[nodone]]',
      '[[extra]]'
    ]) {
      const prompt = `${form}[[chunks:Пр|ивет 🙂|!]][[usage:12,7,5]]`
      const response = await put(prompt, true)
      // The frames of a client of this protocol pass as the provider framed them.
      const text = response.text.replaceAll('\r\n', '\n')
      const outcome = family.readStream({ ...response, text })
      t.equal(outcome.text, 'Привет 🙂!', form)
      t.equal(outcome.usage?.output, 7, form)
    }
  })

  t.test(`a byte order mark before a whole response is no part of it: ${family.name}`, async t => {
    const { text, model: named } = await ask(gateway.url, family, { model, prompt: '[[bom]][[text:marked]]' })
    t.equal(text, 'marked')
    t.equal(named, model)
  })

  t.test(`the end of a response has the client's own word: ${family.name}`, async t => {
    const words: Record<string, Record<Family['name'], string>> = {
      length: { completions: 'length', responses: 'max_output_tokens', messages: 'max_tokens', content: 'MAX_TOKENS' },
      blacklist: { completions: 'content_filter', responses: 'content_filter', messages: 'refusal', content: 'SAFETY' },
      pause_turn: { completions: 'stop', responses: 'completed', messages: 'pause_turn', content: 'OTHER' }
    }
    for (const [reason, expected] of Object.entries(words)) {
      for (const isStream of [false, true]) {
        const { finish } = await ask(gateway.url, family, {
          model,
          prompt: `[[finish:${reason}]][[text:So]]`,
          isStream
        })
        t.equal(finish, expected[family.name], reason)
      }
    }
  })
}

t.test('no log line has the words or the key of a provider', async t => {
  const log = JSON.stringify(readLog(gateway))
  t.notMatch(log, /key-of-the-keyed-provider|my words/)
})
