// A request that takes the way over its document gives the body that its own route gives.

import { randomInt } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { copyTree, mutateTree, writeTree } from '../../../ops/fuzz/json-tree.ts'
import { createRandom } from '../../../ops/fuzz/random.ts'
import { readRequestBases } from '../../../ops/fuzz/request-bases.ts'
import { planChat } from '../../../worker/bridge/plan-chat.ts'
import { readClientRequest } from '../../../worker/debug/formats.ts'
import { readRequestDocument } from '../../../worker/debug/normalized/read-request.ts'
import { writeRequestDocument } from '../../../worker/debug/normalized/write-request.ts'
import { GatewayError, isJsonObject, type JsonObject } from '../../../worker/normalized/index.ts'
import type { ApiMode } from '../../../worker/protocols/provider-face.ts'
import { readJsonObject } from '../../../worker/translation/json-body.ts'
import { requestId } from '../../support/codec.ts'
import { reduceRuns } from '../../support/properties.ts'
import { createContext, EDGE, environment, formats } from './support.ts'

const { bases, donors } = readRequestBases()
const chats = bases.filter(({ path }) => /(?:chat\/completions|responses|messages|enerateContent)$/.test(path))

type Outcome = { upstream: JsonObject } | { code: string; param: string | undefined }

function attempt(work: () => JsonObject): Outcome {
  try {
    return { upstream: work() }
  } catch (thrown) {
    if (!GatewayError.is(thrown) || thrown.code === 'internal_error') throw thrown
    return { code: thrown.code, param: thrown.param }
  }
}

type Family = keyof typeof formats

/** Both ways of one body. */
function translate(family: Family, body: JsonObject, model: string, apiMode: ApiMode) {
  const format = formats[family]
  const context = createContext({ type: 'translate' }, apiMode)
  const read = () => {
    const request = readClientRequest(format, body, context, { model })
    return family === 'content' ? request : { ...request, model }
  }
  const { settings, faces } = environment
  const direct = attempt(
    () => planChat({ protocol: family, apiMode, request: read(), body }, settings, faces).written.body
  )
  const documented = attempt(() => {
    const document = JSON.parse(JSON.stringify(writeRequestDocument(read(), family)))
    const { request, protocol = 'completions' } = readRequestDocument(document, requestId)
    return planChat({ protocol, apiMode, request }, settings, faces).written.body
  })
  return { direct, documented }
}

function isSame({ direct, documented }: ReturnType<typeof translate>, isEdge: boolean): boolean {
  // A document no longer has what the normalized form does not carry, so only the direct way can refuse it.
  if (!('upstream' in direct)) return isEdge || (!('upstream' in documented) && isDeepStrictEqual(direct, documented))
  return 'upstream' in documented && JSON.stringify(direct) === JSON.stringify(documented)
}

t.test('for every recorded request, on every route', async t => {
  let accepted = 0
  for (const { name, family, body } of chats) {
    if (!isJsonObject(body)) continue
    for (const [model, apiMode] of [
      ['GigaChat-2-Max', 'v1'],
      ['GigaChat-2-Max', 'v2'],
      [EDGE, 'v1']
    ] as const) {
      const both = translate(family as Family, body, model, apiMode)
      if ('upstream' in both.direct) accepted++
      t.ok(isSame(both, model === EDGE), `${name} to ${model} ${apiMode}`)
    }
  }
  t.ok(accepted > chats.length, 'most are accepted')
})

t.test('for changed requests', async t => {
  const seed = randomInt(2 ** 31)
  const random = createRandom(seed)
  for (let count = 0; count < reduceRuns(1500); count++) {
    const { family, body } = random.pick(chats)
    const tree = copyTree(body)
    for (let changes = 1 + random.below(3); changes > 0; changes--) mutateTree(tree, random, donors)
    let changed: JsonObject
    try {
      changed = readJsonObject(Buffer.from(writeTree(tree)))
    } catch {
      continue
    }
    const model = random.pick(['GigaChat-2-Max', EDGE])
    const both = translate(family as Family, changed, model, random.pick(['v1', 'v2']))
    if (!isSame(both, model === EDGE)) {
      t.fail(`seed ${seed}, case ${count}: ${JSON.stringify(both).slice(0, 2000)}`)
      return
    }
  }
})
