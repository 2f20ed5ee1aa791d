// Every recorded request of a real agent on an alias of every kind of provider. What such a
// provider cannot be sent is refused with its own field, before anything is sent; without these
// members the request is served with all of its tools, turns and images. A request of the
// provider's own protocol arrives as it came.

import t from 'tap'
import { post } from '../../support/client.ts'
import { type RecordedRequest, readRecordedRequests } from '../agents/recorded.ts'
import { families, type Loose } from './families.ts'
import { content, type Provider, providers, startBridge } from './providers/index.ts'

const { gateway, received } = await startBridge(t)

/** A result of a tool that is no text: the contract calls it invalid there. */
const INVALID_RESULT = /^input\[\d+\]\.output$/
const REFUSALS_MAX = 12
/**
 * Repeats results that the history has already: it arrives as it came, and the service refuses it.
 */
const REPEATS_RESULTS = 'gemini-resume-duplicate-results'

const chats = readRecordedRequests().filter(
  ({ method, path }) => method === 'POST' && !/count_tokens|:countTokens/.test(path)
)

for (const provider of providers) {
  for (const recorded of chats) {
    t.test(`the recorded request ${recorded.name} is served on an alias of ${provider.kind}`, async t => {
      const request = nameAlias(structuredClone(recorded), provider.aliases.keyed)
      const family = families.find(({ name }) => name === request.family)
      if (family === undefined) throw new Error(`No family ${request.family}.`)
      const refused: string[] = []
      for (;;) {
        const before = received(provider).length
        const response = await post(gateway.url + request.path, request.body, request.headers)
        const sent = received(provider).slice(before)
        if (response.status === 200) {
          t.equal(sent.length, 1)
          const isStream =
            request.family === 'content' ? request.path.includes('alt=sse') : request.body.stream === true
          const outcome = isStream ? family.readStream(response) : family.read(response)
          t.equal(outcome.model, provider.aliases.keyed)
          t.match(outcome.finish, /^(stop|tool_calls|completed|end_turn|tool_use|STOP)$/)
          provider.checkAgentRequest(t, request, sent[0]?.body)
          break
        }
        const { code, param, message } = family.readFailure(response)
        if (provider === content && recorded.name === REPEATS_RESULTS) {
          t.equal(response.status, 400)
          t.match(message, /equal to the number of function call parts/, 'in the words of the provider')
          t.equal(sent.length, 1)
          break
        }
        t.strictSame(sent, [], 'a refused request is not sent')
        const isInvalid = param !== null && INVALID_RESULT.test(param)
        t.equal(code, isInvalid ? 'invalid_request' : 'unsupported_semantic', response.text)
        if (param === null || !(isInvalid || isRefused(provider, param)) || refused.length > REFUSALS_MAX) {
          t.fail(`the contract refuses ${param}`)
          break
        }
        refused.push(param)
        if (isInvalid) writeResultAsText(request.body, param)
        else remove(request.body, param)
      }
      if (refused.length > 0) t.comment(`refused: ${refused.join(', ')}`)
    })
  }
}

function isRefused({ refusedOfAgents }: Provider, param: string): boolean {
  return refusedOfAgents.some(pattern => pattern.test(param))
}

/** The request with this alias as its model. */
function nameAlias(request: RecordedRequest, alias: string): RecordedRequest {
  if (request.family === 'content') {
    return { ...request, path: request.path.replace(/models\/[^:]+/, `models/${alias}`) }
  }
  const body = JSON.parse(JSON.stringify({ ...request.body, model: alias }), (key, value) =>
    // A directive was the whole text of a recording, which has lost it.
    key === 'text' && value === '' ? 'Hi' : value
  )
  return { ...request, body }
}

/** Removes the member of a path such as `tools[3].type`; of a list the whole entry. */
function remove(body: Loose, path: string): void {
  const steps = path.split(/[.[\]]+/).filter(step => step !== '')
  const entry = steps.findLastIndex(step => /^\d+$/.test(step))
  // An entry whose kind or state is refused goes as a whole; any other member goes alone.
  const kept = entry === -1 ? steps : steps.slice(0, entry + 1)
  const last = kept.pop() ?? ''
  const parent = kept.reduce((value, step) => value[step], body)
  if (Array.isArray(parent)) parent.splice(Number(last), 1)
  else delete parent[last]
}

/** The call of a result must keep one. */
function writeResultAsText(body: Loose, path: string): void {
  const item = body.input[Number(/\d+/.exec(path)?.[0])]
  item.output = JSON.stringify(item.output.filter(({ type }: Loose) => type === 'input_text'))
}
