// How failures of every kind of provider show in every client protocol (bridge.md 8.7), with the
// detailed ids in the log.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import type { HttpResponse } from '../../support/client.ts'
import { readLog } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { readEnd } from '../system/support.ts'
import { checkFailure, statuses } from './failure-statuses.ts'
import { ask, families, openStream, send } from './families.ts'
import { chat, content, nativeCredentials, providers, startBridge } from './providers/index.ts'

const bridge = await startBridge(t)
const { gateway, emulator } = bridge

/** Resolves with a port on which `respond` listens until the test ends. */
async function listen(t: Test, respond: () => void): Promise<number> {
  const server = createServer((_request, response) => {
    respond()
    response.end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/**
 * Checks the log lines about the failed calls of these responses. It is written with a delay, so it
 * is read once.
 */
async function checkCauses(t: Test, failed: ReadonlyArray<{ response: HttpResponse; prompt: string; id: string }>) {
  const find = () => {
    const lines = readLog(gateway).filter(line => line.event === 'upstream_call_failed')
    return new Map(lines.map(line => [line.request_id, line]))
  }
  const idOf = ({ headers }: HttpResponse) => headers.get('x-request-id')
  await waitUntil(() => find().has(idOf(failed.at(-1)?.response as HttpResponse)), 'the log has the last failed call')
  const causes = find()
  for (const { response, prompt, id } of failed) {
    t.match(JSON.stringify(causes.get(idOf(response))), new RegExp(id), prompt)
  }
}

for (const provider of providers) {
  const { failures } = provider
  const model = provider.aliases.keyed

  for (const family of families) {
    const who = `${family.name} to ${provider.name}`
    const isTranslated = family.name !== provider.passes
    const put = (prompt: string, isStream = false) => send(gateway.url, family, { model, prompt, isStream })

    for (const isStream of [false, true]) {
      const how = `${who}, ${isStream ? 'before a stream' : 'whole'}`

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

      t.test(`bridge 84: a wait is shown only when it is one: ${how}`, async t => {
        for (const value of ['"soon; x=1"', '-5', '1e3', '7.5']) {
          const response = await put(`[[error:429 retry=${value}]]`, isStream)
          t.equal(response.headers.get('retry-after'), null, value)
        }
        const date = 'Wed, 21 Oct 2065 07:28:00 GMT'
        t.equal((await put(`[[error:503 retry="${date}"]]`, isStream)).headers.get('retry-after'), date)
      })

      t.test(`bridge 85: a redirect is not followed: ${how}`, async t => {
        let contacts = 0
        const port = await listen(t, () => contacts++)
        for (const status of [301, 302, 303, 307, 308]) {
          const before = bridge.listCalls().length
          const response = await put(`[[redirect:${status} http://127.0.0.1:${port}/v1/x]]`, isStream)
          t.equal(response.status, 502)
          t.equal(family.readFailure(response).code, 'destination_mismatch')
          t.equal(bridge.listCalls().length - before, 1)
        }
        t.equal(contacts, 0, 'the second host was never contacted')
      })

      t.test(`an error in a body with status 200 has the status that it names: ${how}`, async t => {
        const limited = await put('[[okerror:429 message=Slow down]]', isStream)
        t.equal(limited.status, 429)
        t.match(family.readFailure(limited).message, /Slow down/)
      })

      t.test(`a key that the provider repeats is masked: ${how}`, async t => {
        emulator.respondNext({ status: 400, body: failures.writeError(400, `The key ${provider.key} has no quota`) })
        const response = await put('Hi', isStream)
        t.equal(response.status, 400)
        t.match(family.readFailure(response).message, /has no quota/)
        t.notMatch(response.text, provider.key)
      })
    }

    t.test(`bridge 86: a response that breaks the wire's rules is 502, with the id in the log: ${who}`, async t => {
      const failed = []
      for (const [prompt, id] of [...failures.responses, ...(isTranslated ? failures.translatedResponses : [])]) {
        const response = await put(prompt)
        t.equal(response.status, 502, `${prompt}: ${response.text}`)
        t.equal(family.readFailure(response).code, 'provider_protocol_error', prompt)
        t.notMatch(response.text, new RegExp(id), 'the detailed id is in the log only')
        failed.push({ response, prompt, id })
      }
      await checkCauses(t, failed)
    })

    t.test(`bridge 92: a stream that breaks after its first delta ends with one error: ${who}`, async t => {
      const failed = []
      for (const [prompt, id] of [...failures.streams, ...(isTranslated ? failures.translatedStreams : [])]) {
        const response = await put(`${prompt}[[chunks:one |two |three]]`, true)
        t.equal(response.status, 200, `${prompt}: ${response.text}`)
        t.match(response.text, /one /, `${prompt}: the delta before it is delivered`)
        t.ok(family.readStreamFailure(response.text), `${prompt}: ${response.text}`)
        t.equal(readEnd(family.name, response.text), 'error', `${prompt}: one end`)
        t.notMatch(response.text, /"response\.completed"|message_stop|"finishReason":"STOP"/, `${prompt}: no success`)
        if (family.name === 'completions') t.notMatch(response.text, /"finish_reason":"stop"/, prompt)
        failed.push({ response, prompt, id })
      }
      await checkCauses(t, failed)
    })

    t.test(`bridge 91: a refusal before the stream is an HTTP error: ${who}`, async t => {
      for (const prompt of failures.streamStarts) {
        const response = await put(prompt, true)
        t.equal(response.status, 502, prompt)
        t.match(response.headers.get('content-type'), /^application\/json/)
        t.match(family.readFailure(response).code, /^provider_(failure|protocol_error)$/)
      }
    })

    t.test(`bridge 93: a client that leaves after the first delta ends the call to the provider: ${who}`, async t => {
      const before = emulator.stats.aborted
      const question = { model, prompt: '[[tick:20]][[len:5000]]', isStream: true }
      const controller = new AbortController()
      const response = await openStream(gateway.url, family, question, controller.signal)
      t.equal(response.status, 200)
      const reader = response.body?.getReader()
      for (let text = ''; !text.includes('word1'); ) text += Buffer.from((await reader?.read())?.value ?? []).toString()
      controller.abort()
      await emulator.waitFor(({ stats }) => stats.aborted > before, 5_000)
    })

    t.test(`a stream is read however it is framed and cut, and without its end marker: ${who}`, async t => {
      const forms = ['crlf', 'split:1', 'ping', 'noname', 'nospace', 'gzip', 'nodone', 'extra']
      for (const form of forms) {
        const response = await put(`[[${form}]][[chunks:Пр|ивет 🙂|!]][[usage:12,7,5]]`, true)
        // The frames of a client of the same protocol pass as the provider framed them.
        const text = response.text.replaceAll('\r\n', '\n')
        const outcome = family.readStream({ ...response, text })
        t.equal(outcome.text, 'Привет 🙂!', form)
        t.equal(outcome.usage?.output, 7, form)
      }
    })

    t.test(`a byte order mark before a whole response is no part of it: ${who}`, async t => {
      const { text, model: named } = await ask(gateway.url, family, { model, prompt: '[[bom]][[text:marked]]' })
      t.equal(text, 'marked')
      t.equal(named, model)
    })

    t.test(`the end of a response has the client's own word: ${who}`, async t => {
      for (const [reason, words] of Object.entries(provider.finishes)) {
        for (const isStream of [false, true]) {
          const prompt = `[[finish:${reason}]][[text:So]]`
          const { finish } = await ask(gateway.url, family, { model, prompt, isStream })
          t.equal(finish, words[family.name], reason)
        }
      }
    })
  }
}

t.test('content: the service has the wait in the details of its error', async t => {
  const error = {
    code: 429,
    message: 'Quota exceeded',
    status: 'RESOURCE_EXHAUSTED',
    details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '41.2s' }]
  }
  for (const family of families) {
    for (const isStream of [false, true]) {
      emulator.respondNext({ status: 429, body: { error } })
      const response = await send(gateway.url, family, { model: content.aliases.keyed, prompt: 'Hi', isStream })
      t.equal(response.headers.get('retry-after'), '42')
    }
  }
})

t.test('no log line has the key of a provider, or the words that its client gets', async t => {
  const lines = readLog(gateway)
  const log = JSON.stringify(lines)
  t.match(log, /upstream_call_failed/)
  for (const { key } of providers) t.notMatch(log, key)
  t.notMatch(log, nativeCredentials)
  const told = lines.filter(line => JSON.stringify(line).includes('my words'))
  const hidden = statuses.filter(([, { isTold }]) => !isTold).map(([status]) => status)
  t.strictSame([...new Set(told.map(line => line.status))].sort(), hidden.sort(), 'decisions.md 81')
  for (const line of told) t.match(line, { event: 'upstream_call_failed', provider_text: 'These are my words' })
  for (const { aliases, models } of providers) {
    const names = { status: 404, alias: aliases.keyed, upstream_model: models.keyed }
    t.ok(
      told.some(line => Object.entries(names).every(([name, value]) => line[name] === value)),
      'the line of a 404 names alias and model (decisions.md 114)'
    )
  }
})

t.test('decisions.md 81: code and member of a refusal reach clients of the completions family', async t => {
  const refusals: Array<[status: number, error: object, code: string | null, param: string | null]> = [
    [400, { code: 'context_length_exceeded', param: 'messages' }, 'context_length_exceeded', 'messages'],
    [422, { code: 'string_too_long', param: 'messages[0].content' }, 'string_too_long', 'messages[0].content'],
    [413, { code: 'request_too_large', param: null }, 'request_too_large', null],
    [429, { code: 'insufficient_quota', param: null }, 'insufficient_quota', null],
    [400, { code: '1113', param: '7' }, null, null],
    [400, { code: 'two words', param: 'x'.repeat(65) }, null, null],
    [400, { code: 400, type: 'exceed_context_size_error' }, 'context_length_exceeded', null]
  ]
  for (const [status, error, code, param] of refusals) {
    const body = { error: { message: 'The provider says no.', type: 'invalid_request_error', ...error } }
    for (const family of families.filter(({ name }) => name === 'completions' || name === 'responses')) {
      const put = (isStream: boolean) => send(gateway.url, family, { model: 'chat/keyed', prompt: 'Hi', isStream })
      for (const isStream of [false, true]) {
        emulator.respondNext({ status, body })
        const response = await put(isStream)
        t.equal(response.status, status)
        t.match(family.readFailure(response), { message: 'The provider says no.', code, param }, JSON.stringify(error))
      }
      if (code === null || status === 413 || status === 422) continue
      const frame = `data: ${JSON.stringify(body)}\n\n`
      emulator.respondNext({ headers: { 'content-type': 'text/event-stream' }, chunks: [frame] })
      const first = await put(true)
      t.equal(first.status, status, `in the first frame: ${first.text}`)
      t.match(family.readFailure(first), { code, param })
      const delta = `data: ${JSON.stringify({ id: 'c1', choices: [{ index: 0, delta: { content: 'so' } }] })}\n\n`
      emulator.respondNext({ headers: { 'content-type': 'text/event-stream' }, chunks: [delta, frame] })
      const late = await put(true)
      t.equal(late.status, 200)
      t.match(family.readStreamFailure(late.text), { code }, `in a later frame: ${late.text}`)
    }
  }
  const { key } = chat
  emulator.respondNext({ status: 400, body: { error: { message: 'no', code: key, param: key } } })
  const [family] = families
  const masked = await send(gateway.url, family as (typeof families)[number], { model: 'chat/keyed', prompt: 'Hi' })
  t.equal(masked.status, 400)
  t.notMatch(masked.text, key)
})

t.test('a key that the provider does not accept, or that it misses, is the problem of the operator', async t => {
  const keys = [{ id: 'wrong', credentialEnv: 'WRONG_KEY' }, { id: 'absent' }]
  const profiles = providers.flatMap(({ name, kind, baseUrl }) =>
    keys.map(({ id, ...key }) =>
      writeChatProfile({
        ...key,
        id: `${name}-${id}`,
        kind,
        baseUrl: baseUrl(emulator, 'keyed', `${name}-keyed`),
        aliases: [{ alias: `${name}/${id}` }]
      })
    )
  )
  const other = await startProfileGateway(t, { profiles, env: { WRONG_KEY: 'a-wrong-key' } })
  for (const { name } of providers) {
    for (const family of families) {
      for (const isStream of [false, true]) {
        for (const { id } of keys) {
          const response = await send(other.url, family, { model: `${name}/${id}`, prompt: 'Hi', isStream })
          t.equal(response.status, 502, `${family.name}, ${name}, ${id}`)
          t.equal(family.readFailure(response).code, 'provider_failure')
          t.notMatch(response.text, /API key|API_KEY|a-wrong-key/)
        }
      }
    }
  }
})

t.test('bridge 88: a provider that refuses connections, and a name that does not resolve', async t => {
  const port = await findFreePort()
  const profiles = providers.flatMap(({ name, kind, networkPolicy }) => [
    writeChatProfile({
      id: `${name}-closed`,
      kind,
      baseUrl: `http://127.0.0.1:${port}/v1`,
      aliases: [{ alias: `${name}/closed` }]
    }),
    {
      ...writeChatProfile({
        id: `${name}-unknown`,
        kind,
        baseUrl: 'https://provider.invalid/v1',
        aliases: [{ alias: `${name}/unknown` }]
      }),
      allow_loopback: false,
      network_policy_ref: networkPolicy
    }
  ])
  const other = await startProfileGateway(t, { profiles })
  for (const { name } of providers) {
    for (const family of families) {
      for (const isStream of [false, true]) {
        const put = (model: string) => send(other.url, family, { model, prompt: 'Hi', isStream })
        const refused = await put(`${name}/closed`)
        t.equal(refused.status, 502)
        t.equal(family.readFailure(refused).code, 'provider_failure')
        const unresolved = await put(`${name}/unknown`)
        t.equal(unresolved.status, 502)
        t.equal(family.readFailure(unresolved).code, 'destination_mismatch')
        t.match(family.readFailure(unresolved).message, /^The upstream destination could not be authorized\./)
        t.notMatch(unresolved.text, /provider\.invalid/)
      }
    }
  }
})
