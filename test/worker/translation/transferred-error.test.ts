import t from 'tap'
import { GatewayError } from '../../../worker/normalized/index.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { createTranslator } from '../../../worker/translation/translator.ts'

const dynamic = { profileId: 'p', providerKind: 'native', passModel: true, defaultEmbeddingsModel: 'e' }
const settings = { routes: { aliases: new Map(), dynamic }, providerOptions: {} }

/** The error that `run` rejects with; undefined when it resolves. */
async function catchError(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run()
  } catch (thrown) {
    return thrown
  }
  return undefined
}

t.test('an error is the same for a body that is read inline and one that is read in a thread', async t => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], thread: { type: 'create' } }
  for (const threads of [0, 1]) {
    const translator = createTranslator({ settings, faces: providerFaces, threads, thresholdBytes: 1 })
    t.teardown(() => translator.close())
    const bytes = Buffer.from(JSON.stringify(body))
    const job = { protocol: 'messages', apiMode: 'v1', bytes, context: { requestId: 'r' }, scope: undefined } as const
    const thrown = await catchError(async () => translator.translateChat(job, new AbortController().signal))
    t.ok(GatewayError.is(thrown))
    t.match(thrown, {
      code: 'unsupported_semantic',
      status: 400,
      param: 'thread',
      reason: 'thread_unsupported_request',
      message: /without a thread/
    })
  }
})
