// Every recorded request of a real agent on an alias of a messages_compatible provider. Those of messages agents pass as they are, with all
// that the wire has; of the others what such a provider cannot be sent is refused with its own field, before anything is sent, and without
// these members the request is served with all of its tools, turns and images.

import t, { type Test } from 'tap'
import type { RecordedRequest as ReceivedRequest } from '../../../ops/emulator/server.ts'
import { GATEWAY_SIGNATURE } from '../../../worker/protocols/messages/client/signature.ts'
import { post } from '../../support/client.ts'
import {
  joinNeighbours,
  listFiles,
  listFunctions,
  listRoles,
  type RecordedRequest,
  readRecordedRequests
} from '../agents/recorded.ts'
import { families, type Loose } from './families.ts'
import { messagesAliases, providerModels, startMessagesBridge } from './messages-support.ts'

const bridge = await startMessagesBridge(t)
const { gateway } = bridge
const alias = messagesAliases.keyed

/** A result of a tool that is no text: the contract calls it invalid there. */
const INVALID_RESULT = /^input\[\d+\]\.output$/
/** The members that agents send and the contract refuses for this provider kind. */
const refusable = [
  /^tools\[\d+\]\.(type|googleSearch)$/,
  /^tools\[\d+\]$/,
  /^reasoning\.(summary|context)$/,
  /^include$/,
  /^input\[\d+\]\.(type|status)$/,
  /^(seed|presence_penalty|frequency_penalty)$/,
  INVALID_RESULT
]
const REFUSALS_MAX = 12

const requests = readRecordedRequests().filter(
  ({ method, path }) => method === 'POST' && !/count_tokens|:countTokens/.test(path)
)

for (const recorded of requests) {
  t.test(`the recorded request ${recorded.name} is served on an alias of messages_compatible`, async t => {
    const request = nameAlias(structuredClone(recorded))
    const family = families.find(({ name }) => name === request.family)
    if (family === undefined) throw new Error(`No family ${request.family}.`)
    const refused: string[] = []
    for (;;) {
      const before = bridge.received('keyed').length
      const response = await post(gateway.url + request.path, request.body, request.headers)
      const sent = bridge.received('keyed').slice(before)
      if (response.status === 200) {
        t.equal(sent.length, 1)
        const isStream = request.family === 'content' ? request.path.includes('alt=sse') : request.body.stream === true
        const outcome = isStream ? family.readStream(response) : family.read(response)
        t.equal(outcome.model, alias)
        t.match(outcome.finish, /^(stop|tool_calls|completed|end_turn|tool_use|STOP)$/)
        const [chat] = sent
        if (chat !== undefined) checkChat(t, request, chat)
        break
      }
      const { code, param } = family.readFailure(response)
      t.match(code, /^(unsupported_semantic|invalid_request)$/, response.text)
      t.strictSame(sent, [], 'a refused request is not sent')
      const isKnown = param !== null && refusable.some(pattern => pattern.test(param))
      t.ok(isKnown, `the contract refuses ${param}`)
      if (!isKnown || refused.length > REFUSALS_MAX) break
      refused.push(param)
      if (INVALID_RESULT.test(param)) writeResultAsText(request.body, param)
      else remove(request.body, param)
    }
    if (refused.length > 0) t.comment(`refused: ${refused.join(', ')}`)
  })
}

function nameAlias(request: RecordedRequest): RecordedRequest {
  if (request.family === 'content') {
    return { ...request, path: request.path.replace(/models\/[^:]+/, `models/${alias}`) }
  }
  const body = JSON.parse(JSON.stringify({ ...request.body, model: alias }), (key, value) =>
    // A directive was the whole text of a recording, which has lost it.
    key === 'text' && value === '' ? 'Hi' : value
  )
  return { ...request, body }
}

/** The call of a result must keep one. */
function writeResultAsText(body: Loose, path: string): void {
  const item = body.input[Number(/\d+/.exec(path)?.[0])]
  item.output = JSON.stringify(item.output.filter(({ type }: Loose) => type === 'input_text'))
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

function checkChat(t: Test, request: RecordedRequest, { body }: ReceivedRequest): void {
  if (request.family === 'messages') {
    t.strictSame(body, { ...dropForeignThinking(request.body), model: providerModels.keyed }, 'the body as it was sent')
    return
  }
  const { tools = [], messages } = body as Loose
  t.strictSame(
    tools.map(({ name, description, input_schema: parameters }: Loose) => ({
      name,
      ...(description === undefined ? {} : { description }),
      parameters
    })),
    listFunctions(request),
    'every function with its own schema'
  )
  const roles = messages.map(({ role }: Loose) => role)
  t.strictSame(roles, joinNeighbours(listWireRoles(request)), 'the turns in order')
  const blocks: Loose[] = messages.flatMap(({ content }: Loose) => (Array.isArray(content) ? content : []))
  const nested = blocks.flatMap(block => (Array.isArray(block.content) ? block.content : []))
  const files = [...blocks, ...nested].filter(({ type }) => type === 'image' || type === 'document')
  const different = new Set(files.map(({ source }) => source.data))
  t.equal(different.size, listFiles(request).length, 'every image')
}

/** The recorded thinking came from another provider, through a gateway: this one would refuse its signatures. */
function dropForeignThinking({ thinking, ...body }: Loose): Loose {
  const messages = body.messages.map((message: Loose) =>
    Array.isArray(message.content)
      ? { ...message, content: message.content.filter((block: Loose) => block.signature !== GATEWAY_SIGNATURE) }
      : message
  )
  const [turn, results] = messages.slice(-2)
  const isThoughtLost = results?.content[0]?.type === 'tool_result' && turn.content[0].type === 'tool_use'
  return {
    ...body,
    messages,
    ...(thinking === undefined || (isThoughtLost && thinking.type === 'enabled') ? {} : { thinking })
  }
}

/** Instructions are a member of their own on this wire, and results are in a turn of the user. */
function listWireRoles(request: RecordedRequest): string[] {
  return listRoles(request, 'v2')
    .filter(role => role !== 'system' && role !== 'developer')
    .map(role => (role === 'tool' ? 'user' : role))
}
