// Every recorded request of a real agent on an alias of a content_compatible provider, whose wire refuses what it does not know. What such
// a provider cannot be sent is refused with its own field, before anything is sent; without these members the request is served with all
// of its tools, turns and images. Requests of the provider's own protocol arrive as they came.

import t, { type Test } from 'tap'
import type { RecordedRequest as ReceivedRequest } from '../../../ops/emulator/server.ts'
import { post } from '../../support/client.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import { joinNeighbours, listFiles, listFunctions, listRoles, type RecordedRequest } from '../agents/recorded.ts'
import {
  INVALID_RESULT,
  nameAlias,
  REFUSALS_MAX,
  readRecordedChats,
  remove,
  writeResultAsText
} from './agents-support.ts'
import { contentAliases, startContentBridge } from './content-support.ts'
import { families, type Loose } from './families.ts'

const { gateway, received } = await startContentBridge(t)
const alias = contentAliases.keyed

/** The members that agents send and the contract refuses for this provider kind. */
const refusable = [
  /^tools\[\d+\]\.type$/,
  /^tools\[\d+\]$/,
  /^reasoning\.(summary|context)$/,
  /^include$/,
  /^input\[\d+\]\.(type|status)$/,
  /^context_management$/,
  // A document inside a result; images are served.
  /^messages\[\d+\]\.content\[\d+\]\.content\[\d+\]\.type$/
]
/** Repeats results that the history has already: it arrives as it came, and the service refuses it. */
const REPEATS_RESULTS = 'gemini-resume-duplicate-results'

for (const recorded of readRecordedChats()) {
  t.test(`the recorded request ${recorded.name} is served on a content alias`, async t => {
    const request = nameAlias(structuredClone(recorded), alias)
    const family = families.find(({ name }) => name === request.family)
    if (family === undefined) throw new Error(`No family ${request.family}.`)
    const refused: string[] = []
    for (;;) {
      const before = received().length
      const response = await post(gateway.url + request.path, request.body, request.headers)
      const sent = received().slice(before)
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
      const { code, param, message } = family.readFailure(response)
      if (recorded.name === REPEATS_RESULTS) {
        t.equal(response.status, 400)
        t.match(message, /equal to the number of function call parts/, 'in the words of the provider')
        t.equal(sent.length, 1)
        break
      }
      const isInvalid = param !== null && INVALID_RESULT.test(param)
      t.equal(code, isInvalid ? 'invalid_request' : 'unsupported_semantic', `${message} ${response.text}`)
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

/** The body without the texts of its signatures: those of another provider are not sent to this one. */
function markSignatures(body: unknown): Loose {
  return JSON.parse(JSON.stringify(body), (key, value) => (key === 'thoughtSignature' ? 'signature' : value))
}

function checkChat(t: Test, request: RecordedRequest, { body }: ReceivedRequest): void {
  if (request.family === 'content') {
    t.strictSame(markSignatures(body), markSignatures(request.body), 'the body as it came')
    return
  }
  const { contents } = body as Loose
  t.strictSame(
    listSentFunctions(body).map(({ name, description, parametersJsonSchema }: Loose) => ({
      name,
      ...(description === undefined ? {} : { description }),
      parameters: parametersJsonSchema ?? { type: 'object', properties: {} }
    })),
    listFunctions(request),
    'every function with its own schema'
  )
  // Instructions are apart from the conversation, and results are said by the user.
  const roles = listRoles(request, 'v2').filter(role => role !== 'system')
  const expected = roles.map(role => (role === 'assistant' ? 'model' : 'user'))
  t.strictSame(
    contents.map(({ role }: Loose) => role),
    joinNeighbours(expected),
    'the roles in order'
  )
  const media = (JSON.stringify(contents).match(/"(?:inlineData|fileData)":/g) ?? []).length
  t.equal(media, listFiles(request).length, 'every image')
}
