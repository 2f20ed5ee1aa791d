// Labels and the name of the user on a provider kind whose wire has no place for them: accepted in every client protocol that admits them,
// not sent, and told by the debug endpoints.

import t from 'tap'
import type { DebugTask } from '../../../worker/debug/job.ts'
import { runDebugTask } from '../../../worker/debug/run-task.ts'
import type { DebugEnvironment } from '../../../worker/debug/selected-route.ts'
import type { JsonObject } from '../../../worker/normalized/index.ts'
import { chatCompatibleFace } from '../../../worker/protocols/completions/provider/face.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { createContext, EDGE, environment } from './support.ts'

/** A wire that no client speaks. */
const { sameWire: _sameWire, ...translatedFace } = chatCompatibleFace
const face: typeof chatCompatibleFace = {
  ...translatedFace,
  accepts: {
    ...chatCompatibleFace.accepts,
    features: { ...chatCompatibleFace.accepts.features, metadata: 'ignored', user: 'ignored' }
  },
  writeChat(request, target, options) {
    const { metadata: _metadata, user: _user, ...rest } = request
    return chatCompatibleFace.writeChat(rest, target, options)
  }
}
const withoutLabels: DebugEnvironment = {
  ...environment,
  faces: { ...providerFaces, chat_compatible: { v1: face, v2: face } }
}

const hi = { role: 'user', content: 'hi' }
const NO_PLACE = 'The provider kind chat_compatible has no place for it.'

/** A body of each family with its labels, and the paths that have no effect. */
const bodies = {
  openai: {
    body: { model: EDGE, messages: [hi], metadata: { a: 'b' }, user: 'u' },
    paths: ['metadata', 'user'],
    lost: ['user', 'metadata']
  },
  responses: { body: { model: EDGE, input: 'hi', metadata: { a: 'b' } }, paths: [], lost: ['metadata'] },
  anthropic: {
    body: { model: EDGE, max_tokens: 5, messages: [hi], metadata: { user_id: 'u' } },
    paths: ['metadata'],
    lost: ['metadata.user_id', 'metadata']
  }
} as const

async function ask(task: DebugTask, body: JsonObject, where = withoutLabels): Promise<JsonObject> {
  return runDebugTask({ body, bytes: 1 }, createContext(task), where)
}

for (const [family, { body, paths, lost }] of Object.entries(bodies)) {
  const task = { type: 'explain', family: family as keyof typeof bodies } as const
  t.test(`${family}: labels without a place upstream are told as ignored`, async t => {
    const { accepted, fields } = (await ask(task, body as JsonObject)) as { accepted: boolean; fields: JsonObject[] }
    t.equal(accepted, true)
    t.strictSame(
      fields
        .filter(({ verdict }) => verdict === 'ignored')
        .map(({ path, reason }) => [path, String(reason).startsWith(NO_PLACE)]),
      paths.map(path => [path, true])
    )
    // A Responses client sees its metadata again, in the response.
    if (family === 'responses') t.match(fields, [{}, {}, { path: 'metadata', verdict: 'translated' }])
  })

  t.test(`${family}: the same labels are sent where the wire has a place for them`, async t => {
    const { fields } = (await ask(task, body as JsonObject, environment)) as { fields: JsonObject[] }
    const found = fields.filter(({ path }) => path !== 'model' && String(path).match(/^(?:metadata|user)/))
    t.ok(found.length > 0)
    // Services on this wire take metadata from clients that know it alone (decisions.md 78).
    const sent = { openai: ['ignored', 'exact'], responses: ['translated'], anthropic: ['ignored'] }[family]
    t.strictSame([...new Set(found.map(({ verdict }) => verdict))], sent)
  })

  t.test(`${family}: a translation to the wire lists them as losses`, async t => {
    const { loss, payload } = (await ask(
      { type: 'translate' },
      {
        from: family,
        to: 'upstream',
        loss: true,
        payload: body as JsonObject
      }
    )) as { loss: JsonObject[]; payload: JsonObject }
    t.strictSame(
      loss,
      lost.map(path => ({ path, effect: 'ignored' }))
    )
    t.notMatch(payload, { metadata: {} })
    t.notMatch(payload, { user: 'u' })
  })
}
