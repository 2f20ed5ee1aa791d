// Bodies that were changed at random: every debugging task answers them or refuses them, and never fails.

import { randomInt } from 'node:crypto'
import t from 'tap'
import { copyTree, mutateTree, writeTree } from '../../../ops/fuzz/json-tree.ts'
import { createRandom } from '../../../ops/fuzz/random.ts'
import { readRequestBases } from '../../../ops/fuzz/request-bases.ts'
import { readClientRequest } from '../../../worker/debug/formats.ts'
import type { DebugTask } from '../../../worker/debug/job.ts'
import { writeRequestDocument } from '../../../worker/debug/normalized/write-request.ts'
import { runDebugTask } from '../../../worker/debug/run-task.ts'
import { GatewayError, type JsonObject } from '../../../worker/normalized/index.ts'
import { readJsonObject } from '../../../worker/translation/json-body.ts'
import { wholeV1, wholeV2 } from '../../support/native-route.ts'
import { areRunsFull, reduceRuns } from '../../support/properties.ts'
import { createContext, EDGE, environment, formats } from './support.ts'

const { bases, donors } = readRequestBases()
const chats = bases.filter(({ path }) => /(?:chat\/completions|responses|messages|enerateContent)$/.test(path))
const whole = chats.filter(({ body }) => JSON.stringify(body).length < 5000)
const context = createContext({ type: 'translate' })
const documents = whole.map(({ family, body }) => {
  const protocol = family as keyof typeof formats
  return writeRequestDocument(
    readClientRequest(formats[protocol], body as JsonObject, context, { model: 'm' }),
    protocol
  )
})
const call = { name: 'f', arguments: { a: 1 } }
const responses = [
  wholeV1({ content: 'hi', function_call: call }, 'function_call'),
  wholeV2([{ role: 'assistant', content: [{ text: 'hi' }, { function_call: call }] }])
]

const seed = randomInt(2 ** 31)
const random = createRandom(seed)

/** A changed copy; undefined where it is no JSON object any more. */
function change(body: unknown): JsonObject | undefined {
  const tree = copyTree(body)
  for (let changes = random.below(4); changes > 0; changes--) mutateTree(tree, random, donors)
  try {
    return readJsonObject(Buffer.from(writeTree(tree)))
  } catch {
    return undefined
  }
}

async function answer(task: DebugTask, body: JsonObject, where: string): Promise<JsonObject | undefined> {
  try {
    const apiMode = random.pick(['v1', 'v2'] as const)
    const answered = await runDebugTask({ body, bytes: 2000 }, createContext(task, apiMode), environment)
    // What is answered is JSON.
    return JSON.parse(JSON.stringify(answered))
  } catch (thrown) {
    if (GatewayError.is(thrown) && thrown.code !== 'internal_error' && thrown.status === 400) return undefined
    throw new Error(`seed ${seed}, ${where}: ${JSON.stringify(task)} ${JSON.stringify(body)}`, { cause: thrown })
  }
}

t.test('explanations', async t => {
  let answered = 0
  for (let count = 0; count < reduceRuns(150); count++) {
    const { family, body } = random.pick(whole)
    const changed = change(body)
    if (changed === undefined) continue
    const format = formats[family as keyof typeof formats]
    const model = random.pick(['GigaChat-2-Max', EDGE])
    const task = { type: 'explain', family: format, ...(family === 'content' ? { model } : {}) } as const
    const explained = await answer(task, family === 'content' ? changed : { ...changed, model }, `case ${count}`)
    t.ok(Array.isArray(explained?.fields), `case ${count} has fields`)
    answered++
  }
  if (areRunsFull) t.ok(answered > 50)
})

t.test('translations of requests, documents and responses', async t => {
  const targets = ['openai', 'responses', 'anthropic', 'gemini', 'normalized', 'upstream']
  for (let count = 0; count < reduceRuns(1500); count++) {
    const base = random.pick(whole)
    const [from, body] = random.pick<[string, unknown]>([
      [formats[base.family as keyof typeof formats], base.body],
      ['normalized', random.pick(documents)],
      ['upstream', random.pick(responses)]
    ])
    const payload = change(body)
    if (payload === undefined) continue
    const to = random.pick(targets)
    await answer({ type: 'translate' }, { from, to, payload, loss: true, requested_model: EDGE }, `case ${count}`)
  }
  t.pass('all of them were answered or refused')
})
