// Every recorded request of a real agent on an alias of a chat_compatible provider. What such a provider cannot be sent is refused with
// its own field, before anything is sent; without these members the request is served with all of its tools, turns and images.

import t, { type Test } from 'tap'
import type { RecordedRequest as ReceivedRequest } from '../../../ops/emulator/server.ts'
import { post } from '../../support/client.ts'
import { joinNeighbours, listFiles, listFunctions, listRoles, type RecordedRequest } from '../agents/recorded.ts'
import {
  INVALID_RESULT,
  nameAlias,
  REFUSALS_MAX,
  readRecordedChats,
  remove,
  writeResultAsText
} from './agents-support.ts'
import { families, type Loose } from './families.ts'
import { aliases, startBridge } from './support.ts'

const bridge = await startBridge(t)
const { gateway } = bridge
const alias = aliases.keyed

/** The members that agents send and the contract refuses for this provider kind. */
const refusable = [
  /^tools\[\d+\]\.(type|googleSearch)$/,
  /^tools\[\d+\]$/,
  /^reasoning\.(summary|context)$/,
  /^include$/,
  /^input\[\d+\]\.(type|status)$/,
  /^context_management$/,
  /^generationConfig\.topK$/,
  // A document; images are served.
  /^messages\[\d+\]\.content\[\d+\]\.content\[\d+\]\.type$/,
  /^contents\[\d+\]\.parts\[\d+\]\.inlineData$/
]

for (const recorded of readRecordedChats()) {
  t.test(`the recorded request ${recorded.name} is served on an alias`, async t => {
    const request = nameAlias(structuredClone(recorded), alias)
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
      const isInvalid = param !== null && INVALID_RESULT.test(param)
      t.equal(code, isInvalid ? 'invalid_request' : 'unsupported_semantic', response.text)
      t.strictSame(sent, [], 'a refused request is not sent')
      const isKnown = isInvalid || (param !== null && refusable.some(pattern => pattern.test(param)))
      t.ok(isKnown, `the contract refuses ${param}`)
      if (!isKnown || refused.length > REFUSALS_MAX) break
      refused.push(param)
      if (isInvalid) writeResultAsText(request.body, param)
      else remove(request.body, param)
    }
    if (refused.length > 0) t.comment(`refused: ${refused.join(', ')}`)
  })
}

function checkChat(t: Test, request: RecordedRequest, { body }: ReceivedRequest): void {
  const { tools = [], messages } = body as Loose
  const functions = tools.map((tool: Loose) => tool.function)
  t.strictSame(
    functions.map(({ name, description, parameters }: Loose) => ({
      name,
      ...(description === undefined ? {} : { description }),
      parameters: parameters ?? { type: 'object', properties: {} }
    })),
    listFunctions(request),
    'every function with its own schema'
  )
  const roles = messages.map(({ role }: Loose) => (role === 'developer' ? 'system' : role))
  t.strictSame(joinNeighbours(roles), joinNeighbours(listRoles(request, 'v2')), 'the roles in order')
  const images = messages
    .flatMap(({ content }: Loose) => (Array.isArray(content) ? content : []))
    .filter((part: Loose) => part.type === 'image_url')
  t.equal(images.length, listFiles(request).length, 'every image')
}
