// Large bodies, token counts, embeddings and answers: they are worked on in threads, what waits for a thread is bounded, and the result is
// the same as inline.

import { request } from 'node:http'
import t from 'tap'
import { get, type HttpResponse, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { askIn, bodyOf, type Family, families, model, urlOf } from '../system/support.ts'

const emulator = await startEmulator(t)
const inThreads = await startGateway(t, {
  env: { ...emulatorVariables(emulator), GATEWAY_POOL_THREADS: '1', GATEWAY_POOL_THRESHOLD_BYTES: '2000' }
})
const inline = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_POOL_THREADS: '0' } })
const gateways = [inThreads, inline]

const long = 'Слово word. '.repeat(400)

/** The answer of each gateway, with what the upstream got. */
async function ask(send: (gateway: { url: string }) => Promise<HttpResponse>) {
  const answers = []
  for (const gateway of gateways) {
    emulator.reset()
    const { status, json } = await send(gateway)
    answers.push({ status, json: withoutIds(json), upstream: withoutIds(emulator.requests.at(-1)?.body) })
  }
  return answers
}

/** Ids and times differ from request to request. */
function withoutIds(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null'
  return JSON.parse(
    text
      .replaceAll(/[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}/g, 'id')
      // Quotes inside a text have a backslash.
      .replaceAll(/\b(created(?:_at)?|completed_at)(\\?"):\d+/g, '$1$2:0')
      .replaceAll(/call_gw_[\w-]+/g, 'call')
  )
}

t.test('cost 12: embeddings and token counts in a thread have the same result as inline', async t => {
  const texts = Array.from({ length: 40 }, (_, index) => `${index} ${long.slice(0, 80)}`)
  const tokens = Array.from({ length: 40 }, () => Array.from({ length: 30 }, (_, index) => 1000 + index))
  const requests = texts.map(text => ({ model: 'models/Embeddings', content: { parts: [{ text }] } }))
  const cases: Array<[path: string, body: object]> = [
    ['/v1/embeddings', { model: 'Embeddings', input: texts }],
    ['/v1/embeddings', { model: 'Embeddings', input: tokens, encoding_format: 'base64' }],
    ['/v2/embeddings', { model: 'Embeddings', input: [...texts, 3] }],
    ['/v1beta/models/Embeddings:embedContent', { content: { parts: [{ text: long }] } }],
    ['/v1beta/models/Embeddings:batchEmbedContents', { requests }],
    ['/v1/messages/count_tokens', { model, messages: [{ role: 'user', content: long }] }],
    ['/v1/messages/count_tokens', { model, messages: [{ role: 'user', content: [{ type: 'text', text: long }, 1] }] }],
    [`/v1beta/models/${model}:countTokens`, { contents: [{ parts: [{ text: long }] }] }]
  ]
  for (const [path, body] of cases) {
    const [threaded, whole] = await ask(({ url }) => post(url + path, body))
    t.strictSame(threaded, whole, path)
  }
})

t.test('cost 12: a large whole answer is read and written in a thread with the same result as inline', async t => {
  const calls = [
    { name: 'f', arguments: { city: long } },
    { name: 'g', arguments: { n: 1 } }
  ]
  const message = (text: string) => ({
    choices: [
      { message: { role: 'assistant', content: text, reasoning_content: long }, finish_reason: 'stop', index: 0 }
    ],
    created: 1,
    model: 'GigaChat-2:1.0',
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    object: 'chat.completion'
  })
  const withCall = message('')
  Object.assign(withCall.choices[0]?.message ?? {}, { function_call: calls[0], functions_state_id: 'state' })
  const answers: Array<[title: string, answer: object, more?: object]> = [
    ['text', message(long)],
    ['a call', withCall],
    ['text that is cut at a stop string', message(`${long}STOP${long}`), { stop: ['STOP'] }],
    ['no answer', { choices: [], padding: long }]
  ]
  for (const family of families) {
    for (const [title, body, more] of answers) {
      if (more !== undefined && family !== 'completions') continue
      const [threaded, whole] = await ask(gateway => {
        emulator.respondNext({ status: 200, body })
        return askIn(gateway, family, 'hi', { prefix: family === 'content' ? '/v1beta' : '/v1', ...(more && { more }) })
      })
      t.strictSame(threaded, whole, `${family}: ${title}`)
    }
  }
})

t.test('cost 3: a large request with large schemas is answered and echoed as a small one', async t => {
  const properties = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`p${index}`, { type: 'string' }]))
  const tool = { type: 'function', name: 'find', description: 'd', parameters: { type: 'object', properties } }
  for (const stream of [false, true]) {
    const more = { tools: [tool, { type: 'web_search' }], metadata: { a: 'b' }, stream }
    const texts = []
    for (const { url } of gateways) {
      const response = await post(`${url}/v1/responses`, {
        ...bodyOf('responses', 'hi', { more }),
        instructions: long.repeat(20)
      })
      t.equal(response.status, 200)
      texts.push(withoutIds(response.text.split('\n')))
    }
    t.strictSame(texts[0], texts[1])
  }
})

/** A body of nearly the largest size whose last member is wrong: it is read to its end, and no upstream is needed. */
function largestWrongBody(family: Family): Buffer {
  const text = JSON.stringify(
    bodyOf(family, 'x'.repeat(9_900_000), { more: { temperature: 'warm', generationConfig: 1 } })
  )
  return Buffer.from(text)
}

t.test('cost 3: large bodies beyond the queue are refused with 503, and small requests go on', async t => {
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_POOL_THREADS: '1', GATEWAY_WORKERS: '1' }
  })
  const bodies = families.map(family => [family, largestWrongBody(family)] as const)
  const large = Array.from({ length: 16 }, (_, index) => {
    const [family, body] = bodies[index % bodies.length] as (typeof bodies)[number]
    return post(urlOf(gateway, family), body).then(response => ({ family, response }))
  })
  let isDone = false
  const small = (async () => {
    let answered = 0
    while (!isDone) {
      t.equal((await askIn(gateway, 'completions', 'hi')).status, 200)
      answered++
    }
    return answered
  })()
  const refused = new Set<Family>()
  const counts = { 400: 0, 503: 0 }
  for (const { family, response } of await Promise.all(large)) {
    const { status, json, headers } = response
    if (status === 400 || status === 503) counts[status]++
    else t.fail(`${family}: ${status} ${response.text.slice(0, 200)}`)
    if (status !== 503) continue
    refused.add(family)
    t.equal(headers.get('retry-after'), '1')
    if (family === 'messages') t.match(json, { type: 'error', error: { type: 'overloaded_error' } })
    else if (family === 'content') t.match(json.error, { code: 503, status: 'UNAVAILABLE' })
    else t.match(json.error, { code: 'gateway_overloaded' })
  }
  isDone = true
  t.ok((await small) > 0)
  t.ok(counts[400] > 1, `${counts[400]} were read`)
  t.ok(counts[503] > 1, `${counts[503]} were refused`)
  t.equal((await get(`${gateway.url}/health`)).status, 200)
})

t.test('cost 3: clients that leave while their bodies wait for a thread cost no thread and no slot', async t => {
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_POOL_THREADS: '1', GATEWAY_WORKERS: '1' }
  })
  const body = largestWrongBody('completions').subarray(0, 2_000_000)
  const { hostname, port } = new URL(gateway.url)
  for (let round = 0; round < 5; round++) {
    const left = Array.from({ length: 10 }, () => {
      const leaving = request({ hostname, port, path: '/v1/chat/completions', method: 'POST' })
      leaving.on('error', () => undefined)
      leaving.end(body, () => leaving.destroy())
      return new Promise(resolve => leaving.once('close', resolve))
    })
    await Promise.all(left)
  }
  const response = await post(urlOf(gateway, 'completions'), bodyOf('completions', 'x'.repeat(600_000)))
  t.equal(response.status, 200)
})

t.test(
  'cost 3: large bodies that give way to small requests arrive whole, and a client may leave within one',
  async t => {
    emulator.reset()
    const texts = ['a', 'я', 'c'].map(letter => `${letter.repeat(3_000_000)}.`)
    const { hostname, port, pathname } = new URL(urlOf(inThreads, 'completions'))
    const leaving = request({ hostname, port, path: pathname, method: 'POST' })
    leaving.on('error', () => undefined)
    leaving.write(`{"model":"${model}","x":"${'x'.repeat(5_000_000)}`)

    let areRead = false
    const large = Promise.all(texts.map(text => post(urlOf(inThreads, 'completions'), bodyOf('completions', text))))
    void large.finally(() => {
      areRead = true
    })
    const statuses: number[] = []
    while (!areRead) statuses.push((await askIn(inThreads, 'completions', 'hi')).status)
    t.same(new Set(statuses), new Set([200]))
    t.same(
      (await large).map(({ status }) => status),
      [200, 200, 200]
    )
    leaving.destroy()
    await new Promise(resolve => leaving.once('close', resolve))

    const received = emulator.requests.map(({ body }) => JSON.stringify(body))
    for (const text of texts) t.equal(received.filter(body => body.includes(`"${text}"`)).length, 1)
    t.equal((await askIn(inThreads, 'completions', 'hi')).status, 200)
  }
)
