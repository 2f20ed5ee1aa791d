// The head of a stream whose provider is silent (decisions.md 98).
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { GoogleGenerativeAI } from '@google/generative-ai'
import OpenAI from 'openai'
import t from 'tap'
import { get, type HttpResponse, readUntilCut } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { readEnd } from '../system/support.ts'
import { type Family, families, openStream, send } from './families.ts'
import { chat, NATIVE_ALIAS, providers, startBridge } from './providers/index.ts'

const memory = await openTemporaryStore(t)
const { gateway } = await startBridge(t, {
  memory,
  env: { GATEWAY_STREAM_HEAD_AFTER_SECONDS: '0.2', GATEWAY_ACCESS_LOG: 'true' }
})
const SILENT = '[[slow:1500]]'
/** What is sent while the provider is silent, where it is no comment; the event of a content stream goes on behind it. */
const FIRST_TEXTS: Readonly<Record<string, string>> = { messages: 'event: ping\n', content: 'data: ' }
const models = [NATIVE_ALIAS, ...providers.map(({ aliases }) => aliases.keyed)]
const routes = models.flatMap(model => families.map(family => ({ model, family })))

/** Asks for a stream of a provider that is silent at first. It is read at once: fetch drops what is not read of a body that breaks. */
async function askSilent(family: Family, model: string, prompt: string) {
  const response = await openStream(gateway.url, family, { model, prompt: SILENT + prompt, isStream: true })
  return { what: `${family.name} to ${model}`, family, response, ...(await readUntilCut(response)) }
}

t.test('operations-streamhead: the head comes while the provider is silent, and the stream is whole', async t => {
  const streams = await Promise.all(routes.map(({ family, model }) => askSilent(family, model, '[[text:done]]')))
  for (const { what, family, response, text, isCut } of streams) {
    t.equal(response.status, 200, what)
    t.match(response.headers.get('content-type'), /^text\/event-stream/, what)
    t.notOk(isCut, what)
    const first = FIRST_TEXTS[family.name] ?? ': keep-alive\n\n'
    t.ok(text.startsWith(first), `${what}: ${text.slice(0, 99)}`)
    t.equal(readEnd(family.name, text), 'success', what)
    t.equal(family.readStream({ text } as HttpResponse).text, 'done', what)
  }
})

t.test('decisions.md 98: a failure behind the head is the error of the stream, and the stream has no end', async t => {
  const failing = '[[error:429 retry=7]]'
  const streams = await Promise.all(routes.map(({ family, model }) => askSilent(family, model, failing)))
  for (const { what, family, response, text, isCut } of streams) {
    t.equal(response.status, 200, what)
    t.ok(isCut, what)
    t.equal(readEnd(family.name, text), 'error', what)
    t.ok(family.readStreamFailure(text), `${what}: ${text}`)
  }
})

t.test(
  'a failure before the time is up has its status, and a stream that begins in time has no keep-alive',
  async t => {
    // Far more time than a loaded machine takes for a response.
    const { gateway } = await startBridge(t, { env: { GATEWAY_STREAM_HEAD_AFTER_SECONDS: '20' } })
    for (const family of families) {
      const question = { model: chat.aliases.keyed, isStream: true }
      const failed = await send(gateway.url, family, { ...question, prompt: '[[error:429 retry=7]]' })
      t.equal(failed.status, 429, family.name)
      t.equal(failed.headers.get('retry-after'), '7', family.name)
      const served = await send(gateway.url, family, { ...question, prompt: '[[text:done]]' })
      t.notMatch(served.text, /^(?:: keep-alive|event: ping|\n)/, family.name)
      const refused = await send(gateway.url, family, { ...question, model: 'unknown/model', prompt: 'hi' })
      t.equal(refused.status, 404, family.name)
    }
  }
)

t.test('a content stream as an array has its head too, and stays an array', async t => {
  const url = `${gateway.url}/v1beta/models/${encodeURIComponent(chat.aliases.keyed)}:streamGenerateContent?alt=json`
  const ask = (text: string) =>
    fetch(url, { method: 'POST', body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text }] }] }) })
  const response = await ask(`${SILENT}[[text:done]]`)
  t.match(response.headers.get('content-type'), /^application\/json/)
  const chunks = (await response.json()) as Array<{ candidates: [{ content: { parts: Array<{ text: string }> } }] }>
  t.equal(chunks.map(({ candidates }) => candidates[0].content?.parts?.[0]?.text ?? '').join(''), 'done')
})

t.test('official SDKs read the stream, and raise its error', async t => {
  const model = chat.aliases.keyed
  const served = `${SILENT}[[text:done]]`
  const failing = `${SILENT}[[error:500]]`
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'unused', maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: 'unused', maxRetries: 0 })
  const google = new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: gateway.url } })
  const older = new GoogleGenerativeAI('unused').getGenerativeModel(
    { model: `models/${model}` },
    { baseUrl: gateway.url }
  )
  const sdks: Record<string, (content: string) => Promise<string>> = {
    async completions(content) {
      let text = ''
      const messages = [{ role: 'user' as const, content }]
      for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true })) {
        text += chunk.choices[0]?.delta.content ?? ''
      }
      return text
    },
    async responses(input) {
      let text = ''
      for await (const event of await openai.responses.create({ model, input, stream: true })) {
        if (event.type === 'response.output_text.delta') text += event.delta
        if (event.type === 'response.failed') throw new Error(event.response.error?.message)
      }
      return text
    },
    async messages(content) {
      const stream = anthropic.messages.stream({ model, max_tokens: 50, messages: [{ role: 'user', content }] })
      return (await stream.finalMessage()).content.map(block => (block.type === 'text' ? block.text : '')).join('')
    },
    async content(contents) {
      let text = ''
      for await (const chunk of await google.models.generateContentStream({ model, contents })) text += chunk.text ?? ''
      return text
    },
    async 'content, older'(contents) {
      let text = ''
      const { stream, response } = await older.generateContentStream(contents)
      response.catch(() => undefined)
      for await (const chunk of stream) text += chunk.text()
      return text
    }
  }
  await Promise.all(
    Object.entries(sdks).map(async ([name, ask]) => {
      t.equal(await ask(served), 'done', name)
      t.ok((await catchError(() => ask(failing))) instanceof Error, name)
    })
  )
})

t.test(
  'a stored response is read back behind its head, one that failed behind it as a failed one or not at all',
  async t => {
    const family = families.find(({ name }) => name === 'responses') as Family
    const more = { store: true }
    const question = { model: chat.aliases.keyed, isStream: true, more }
    const served = await send(gateway.url, family, { ...question, prompt: `${SILENT}[[text:done]]` })
    const id = /"id":"(resp_[^"]+)"/.exec(served.text)?.[1]
    const stored = await get(`${gateway.url}/v1/responses/${id}`)
    t.match(stored, { status: 200, json: { status: 'completed' } })
    const failed = await send(gateway.url, family, { ...question, prompt: `${SILENT}[[error:500]]` })
    t.ok(failed.isCut)
    t.equal(readEnd('responses', failed.text), 'error')
    const failedId = /"id":"(resp_[^"]+)"/.exec(failed.text)?.[1]
    if (failedId !== undefined)
      t.match(await get(`${gateway.url}/v1/responses/${failedId}`), { json: { status: 'failed' } })
  }
)
