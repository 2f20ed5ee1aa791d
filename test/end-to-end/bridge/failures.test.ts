// How failures of a provider show in every client protocol (contract, section 8.7), with the detailed ids in the log.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { malformedNames } from '../../../ops/emulator/malformed-chat.ts'
import type { HttpResponse } from '../../support/client.ts'
import { readLog } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { writeChatProfile } from '../../support/profile-gateway.ts'
import { readEnd } from '../system/support.ts'
import { checkFailure, statuses } from './failure-statuses.ts'
import { families, send } from './families.ts'
import { aliases, startBridge } from './support.ts'

const bridge = await startBridge(t)
const { gateway, emulator } = bridge
const model = aliases.keyed

for (const family of families) {
  const put = (prompt: string, isStream = false, more: object = {}) =>
    send(gateway.url, family, { model, prompt, isStream, more })

  for (const isStream of [false, true]) {
    const how = `${family.name}, ${isStream ? 'before a stream' : 'whole'}`

    t.test(`a provider's status is the client's as the contract maps it: ${how}`, async t => {
      for (const [status, expected] of statuses) {
        const response = await put(`[[error:${status} json message=These are my words]]`, isStream)
        t.equal(response.status, expected.status, `${status}: ${response.text}`)
        const failure = family.readFailure(response)
        checkFailure(t, family, failure, expected)
        if (expected.isTold) t.match(failure.message, /These are my words/)
        else t.notMatch(failure.message, /my words/)
      }
    })

    t.test(`an error in a body with status 200 has the status that it names: ${how}`, async t => {
      const limited = await put('[[okerror:429 message=Slow down]]', isStream)
      t.equal(limited.status, 429)
      t.match(family.readFailure(limited).message, /Slow down/)
    })
  }

  t.test(
    `bridge 84: limits and outages keep their status, and 429 and 503 their retry-after: ${family.name}`,
    async t => {
      for (const isStream of [false, true]) {
        const limited = await put('[[error:429 retry=7 message=Slow down]]', isStream)
        t.equal(limited.status, 429)
        t.equal(limited.headers.get('retry-after'), '7')
        const types = { completions: 'rate_limit_error', responses: 'rate_limit_error' }
        const others = { messages: 'rate_limit_error', content: 'RESOURCE_EXHAUSTED' }
        t.equal(family.readFailure(limited).type, { ...types, ...others }[family.name])
        for (const status of [502, 503, 504]) {
          const response = await put(`[[error:${status} retry=9]]`, isStream)
          t.equal(response.status, status)
          t.equal(response.headers.get('retry-after'), status === 503 ? '9' : null)
        }
        for (const value of ['"soon; x=1"', '-5', '1e3', '7.5']) {
          const response = await put(`[[error:429 retry=${value}]]`, isStream)
          t.equal(response.headers.get('retry-after'), null, value)
        }
        const date = 'Wed, 21 Oct 2065 07:28:00 GMT'
        t.equal((await put(`[[error:503 retry="${date}"]]`, isStream)).headers.get('retry-after'), date)
      }
    }
  )

  t.test(`bridge 85: a redirect is not followed: ${family.name}`, async t => {
    let contacts = 0
    const other = createServer((_request, response) => {
      contacts++
      response.end()
    })
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    t.teardown(() => other.close())
    const { port } = other.address() as AddressInfo
    for (const isStream of [false, true]) {
      for (const status of [301, 302, 303, 307, 308]) {
        const response = await put(`[[redirect:${status} http://127.0.0.1:${port}/v1/chat/completions]]`, isStream)
        t.equal(response.status, 502)
        t.equal(family.readFailure(response).code, 'destination_mismatch')
      }
    }
    t.equal(contacts, 0, 'the second host was never contacted')
  })

  t.test(
    `bridge 86: a response that breaks the wire's rules is 502, with the detailed id in the log: ${family.name}`,
    async t => {
      const cases: ReadonlyArray<[string, string]> = [
        ['[[badjson]]', 'invalid_json_response'],
        ['[[finish:eos]]', 'invalid_finish_reason'],
        ['[[bigtext:1100000]]', 'response_too_large'],
        ...['invalid_choice', 'invalid_message', 'invalid_message_content', 'invalid_tool_call', 'invalid_usage'].map(
          id => [`[[malformed:${id}]]`, id] as [string, string]
        ),
        ['[[malformed:invalid_choices]]', 'invalid_choices'],
        ['[[malformed:empty_choices]]', 'invalid_choices'],
        ['[[malformed:response_not_object]]', 'invalid_json_response']
      ]
      for (const [prompt, id] of cases) {
        const response = await put(prompt)
        t.equal(response.status, 502, prompt)
        const failure = family.readFailure(response)
        t.equal(failure.code, 'provider_protocol_error', prompt)
        t.notMatch(response.text, new RegExp(id), 'the detailed id is in the log only')
        t.match(await readCause(response), new RegExp(id), prompt)
      }
    }
  )

  t.test(`bridge 92: a stream that breaks after its first delta ends with one error: ${family.name}`, async t => {
    const streams = malformedNames.filter(name => name.includes('stream') && !name.endsWith('_done'))
    const prompts = [
      ...streams.map(id => `[[malformed:${id}]]`),
      '[[errframe]]',
      '[[die]]',
      '[[noeof]]',
      '[[badframe]]'
    ]
    for (const prompt of prompts) {
      const response = await put(`${prompt}[[chunks:one |two |three]]`, true)
      t.equal(response.status, 200, prompt)
      t.match(response.text, /one /, `${prompt}: the delta before it is delivered`)
      const failure = family.readStreamFailure(response.text)
      t.ok(failure, `${prompt}: ${response.text}`)
      t.equal(readEnd(family.name, response.text), 'error', `${prompt}: one end`)
      t.notMatch(response.text, /"response\.completed"|message_stop|"finishReason":"STOP"/, `${prompt}: no success`)
      if (family.name === 'completions') t.notMatch(response.text, /"finish_reason":"stop"/, prompt)
      const cause = await readCause(response)
      const id = /malformed:(\w+)/.exec(prompt)?.[1]
      if (id !== undefined) t.match(cause, new RegExp(id), prompt)
    }
  })

  t.test(`bridge 91: a refusal before the stream is an HTTP error: ${family.name}`, async t => {
    const response = await put('[[error:401]]', true)
    t.equal(response.status, 502)
    t.match(response.headers.get('content-type'), /^application\/json/)
    t.equal(family.readFailure(response).code, 'provider_failure')
  })
}

/** The log line about the failed call of a response, as text. */
async function readCause({ headers }: HttpResponse): Promise<string> {
  const id = headers.get('x-request-id')
  const find = () => readLog(gateway).find(line => line.event === 'upstream_call_failed' && line.request_id === id)
  await waitUntil(() => find() !== undefined, 'the log has the failed call')
  return JSON.stringify(find())
}

t.test('no log line has the words or the key of a provider', async t => {
  const log = JSON.stringify(readLog(gateway))
  t.notMatch(log, /key-of-the-keyed-provider/)
  t.ok(emulator.requests.length > 0)
})

t.test('bridge 88: a provider that refuses connections, and a name that does not resolve', async t => {
  const closed = createServer()
  await new Promise<void>(resolve => closed.listen(0, '127.0.0.1', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise(resolve => closed.close(resolve))
  const other = await startBridge(t, {
    profiles: () => [
      writeChatProfile({ id: 'closed', baseUrl: `http://127.0.0.1:${port}/v1`, aliases: [{ alias: 'gone/a' }] }),
      {
        ...writeChatProfile({ id: 'unknown', baseUrl: 'https://provider.invalid/v1', aliases: [{ alias: 'gone/b' }] }),
        allow_loopback: false,
        network_policy_ref: 'public-openai'
      }
    ]
  })
  for (const family of families) {
    for (const isStream of [false, true]) {
      const ask = (alias: string) => send(other.gateway.url, family, { model: alias, prompt: 'Hi', isStream })
      const refused = await ask('gone/a')
      t.equal(refused.status, 502)
      t.equal(family.readFailure(refused).code, 'provider_failure')
      const unresolved = await ask('gone/b')
      t.equal(unresolved.status, 502)
      t.equal(family.readFailure(unresolved).code, 'destination_mismatch')
      t.match(family.readFailure(unresolved).message, /^The upstream destination could not be authorized\./)
      t.notMatch(unresolved.text, /provider\.invalid/)
    }
  }
})
