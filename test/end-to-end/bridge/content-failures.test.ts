// How failures of a content_compatible provider show in every client protocol (bridge.md 8.7).

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { HttpResponse } from '../../support/client.ts'
import { readLog } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { googleBaseUrl, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { readEnd } from '../system/support.ts'
import { contentAliases, contentKey, startContentBridge } from './content-support.ts'
import { checkFailure, statuses } from './failure-statuses.ts'
import { ask, families, openStream, send } from './families.ts'

const { gateway, emulator, received } = await startContentBridge(t)
const model = contentAliases.keyed

for (const family of families) {
  const put = (prompt: string, isStream = false) => send(gateway.url, family, { model, prompt, isStream })

  for (const isStream of [false, true]) {
    const how = `${family.name}, ${isStream ? 'before a stream' : 'whole'}`

    t.test(`a content provider's status is the client's as the contract maps it: ${how}`, async t => {
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

    t.test(`bridge 84: limits and outages keep their status and their wait: ${how}`, async t => {
      const limited = await put('[[error:429 retry=7 message=Slow down]]', isStream)
      t.equal(limited.status, 429)
      t.equal(limited.headers.get('retry-after'), '7')
      for (const status of [502, 503, 504]) {
        const response = await put(`[[error:${status} retry=9]]`, isStream)
        t.equal(response.status, status)
        t.equal(response.headers.get('retry-after'), status === 503 ? '9' : null)
      }
      // The service itself has the wait in the details of the error only.
      const error = {
        code: 429,
        message: 'Quota exceeded',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '41.2s' }]
      }
      emulator.respondNext({ status: 429, body: { error } })
      t.equal((await put('Hi', isStream)).headers.get('retry-after'), '42')
    })

    t.test(`what the provider refuses of a request is told: ${how}`, async t => {
      const refused = await send(gateway.url, family, {
        model: contentAliases.keyless,
        prompt: '[[error:400 message=Thought signature is not valid.]]',
        isStream
      })
      t.equal(refused.status, 400)
      t.match(family.readFailure(refused).message, /Thought signature is not valid/)
    })
  }

  t.test(`a byte order mark before a whole response is no part of it: ${family.name}`, async t => {
    const { text, model: named } = await ask(gateway.url, family, { model, prompt: '[[bom]][[text:marked]]' })
    t.equal(text, 'marked')
    t.equal(named, model)
  })

  t.test(`a key that the provider repeats is masked: ${family.name}`, async t => {
    const error = { code: 400, message: `The key ${contentKey} has no quota`, status: 'INVALID_ARGUMENT' }
    for (const isStream of [false, true]) {
      emulator.respondNext({ status: 400, body: { error } })
      const response = await put('Hi', isStream)
      t.equal(response.status, 400)
      t.match(family.readFailure(response).message, /has no quota/)
      t.notMatch(response.text, contentKey)
    }
  })

  t.test(`bridge 85: a redirect of a content provider is not followed: ${family.name}`, async t => {
    let contacts = 0
    const other = createServer((_request, response) => {
      contacts++
      response.end()
    })
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    t.teardown(() => other.close())
    const { port } = other.address() as AddressInfo
    for (const isStream of [false, true]) {
      const response = await put(`[[redirect:307 http://127.0.0.1:${port}/v1beta/models/x]]`, isStream)
      t.equal(response.status, 502)
      t.equal(family.readFailure(response).code, 'destination_mismatch')
    }
    t.equal(contacts, 0, 'the second host was never contacted')
  })

  t.test(`bridge 86: a content response that breaks the wire's rules is 502: ${family.name}`, async t => {
    const prompts = ['[[badjson]]', '[[bigtext:1100000]]', '[[malformed:response_not_object]]']
    // Between one protocol the shape of a response is left to the client.
    const shapes = ['invalid_choices', 'invalid_choice', 'invalid_message', 'invalid_message_content', 'invalid_usage']
    if (family.name !== 'content') prompts.push(...shapes.map(id => `[[malformed:${id}]]`))
    for (const prompt of prompts) {
      const response = await put(prompt)
      t.equal(response.status, 502, `${prompt}: ${response.text}`)
      t.equal(family.readFailure(response).code, 'provider_protocol_error', prompt)
      t.ok(await readCause(response), prompt)
    }
  })

  t.test(
    `bridge 92: a content stream that breaks after its first delta ends with one error: ${family.name}`,
    async t => {
      const prompts = ['[[malformed:invalid_stream_json]]', '[[errframe]]', '[[die]]', '[[badframe]]', '[[noeof]]']
      const shapes = [
        'invalid_stream_choices',
        'invalid_stream_choice',
        'invalid_stream_delta',
        'invalid_stream_content'
      ]
      if (family.name !== 'content') prompts.push(...shapes.map(id => `[[malformed:${id}]]`))
      for (const prompt of prompts) {
        const response = await put(`${prompt}[[chunks:one |two |three]]`, true)
        t.equal(response.status, 200, prompt)
        t.match(response.text, /one /, `${prompt}: the delta before it is delivered`)
        t.ok(family.readStreamFailure(response.text), `${prompt}: ${response.text}`)
        t.equal(readEnd(family.name, response.text), 'error', `${prompt}: one end`)
        t.notMatch(response.text, /"response\.completed"|message_stop|"finishReason":"STOP"/, `${prompt}: no success`)
        if (family.name === 'completions') t.notMatch(response.text, /"finish_reason":"stop"/, prompt)
        t.ok(await readCause(response), prompt)
      }
    }
  )

  t.test(`bridge 93: a client that leaves ends the call to a content provider: ${family.name}`, async t => {
    const before = emulator.stats.aborted
    const abort = new AbortController()
    const question = { model, prompt: '[[tick:20]][[len:5000]]', isStream: true }
    const response = await openStream(gateway.url, family, question, abort.signal)
    t.equal(response.status, 200)
    abort.abort()
    await emulator.waitFor(() => emulator.stats.aborted > before, 5_000)
    t.equal(emulator.stats.aborted, before + 1)
  })
}

t.test('a key that the provider does not accept, or that it misses, is the problem of the operator', async t => {
  const keys = [{ id: 'wrong', credentialEnv: 'WRONG_KEY' }, { id: 'absent' }]
  const baseUrl = googleBaseUrl(emulator, 'keyed')
  const other = await startProfileGateway(t, {
    profiles: keys.map(key =>
      writeChatProfile({ ...key, kind: 'content_compatible', baseUrl, aliases: [{ alias: `key/${key.id}` }] })
    ),
    env: { WRONG_KEY: 'a-wrong-key' }
  })
  for (const family of families) {
    for (const isStream of [false, true]) {
      for (const { id } of keys) {
        const response = await send(other.url, family, { model: `key/${id}`, prompt: 'Hi', isStream })
        t.equal(response.status, 502, `${family.name}, ${id}`)
        t.equal(family.readFailure(response).code, 'provider_failure')
        t.notMatch(response.text, /API key|API_KEY|a-wrong-key/)
      }
    }
  }
})

/** The log line about the failed call of a response, as text. */
async function readCause({ headers }: HttpResponse): Promise<string> {
  const id = headers.get('x-request-id')
  const find = () => readLog(gateway).find(line => line.event === 'upstream_call_failed' && line.request_id === id)
  await waitUntil(() => find() !== undefined, 'the log has the failed call')
  return JSON.stringify(find())
}

t.test('no log line has the key of a provider', async t => {
  t.ok(received().length > 0)
  t.notMatch(JSON.stringify(readLog(gateway)), new RegExp(contentKey))
})
