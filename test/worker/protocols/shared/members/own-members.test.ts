import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import { JsonEdits } from '../../../../../worker/protocols/shared/json/edits.ts'
import { editOwnMembers } from '../../../../../worker/protocols/shared/members/own-members.ts'

const DECIDED = new Set(['model', 'stream', 'tools'])

/** What is sent of a body, and what of it has no effect. */
function send(body: JsonObject): [JsonObject, string[]] {
  const edits = new JsonEdits()
  const leftOut = editOwnMembers(body, edits, DECIDED)
  return [edits.applyTo(body), leftOut]
}

t.test(
  'transport names of SDKs and the mark of a replay are taken out, without a notice (decisions.md 70 and 72)',
  async t => {
    const body: JsonObject = { model: 'alias', unknown: { api_key: 'x' }, metadata: { timeout: 1 } }
    t.equal(send(body)[0], body)
    const own = {
      additional_fields: { a: 1 },
      extra_headers: { 'x-a': '1' },
      extra_query: { a: '1' },
      api_key: 'secret',
      auth_token: 'secret',
      base_url: 'http://example',
      timeout: 5,
      max_retries: 1,
      proxy: 'http://example',
      http_client: {}
    }
    t.strictSame(send({ ...own, ...body }), [body, []])
    t.strictSame(send({ a: 1, metadata: { gateway_replay: 'x' } }), [{ a: 1 }, []])
    t.strictSame(send({ metadata: { gateway_replay: 'x', b: 1 } }), [{ metadata: { b: 1 } }, []])
  }
)

t.test(
  'the members of an extra body are members of the body, but for what is decided already (decisions.md 72)',
  async t => {
    t.strictSame(send({ a: 1, extra_body: { top_k: 5, a: 2 } }), [{ top_k: 5, a: 2 }, []])
    t.strictSame(send({ extra_body: { model: 'other', stream: true, tools: null, api_key: 'x', min_p: 0 } }), [
      { min_p: 0 },
      ['extra_body.model', 'extra_body.stream', 'extra_body.api_key']
    ])
    for (const empty of [null, {}]) t.strictSame(send({ a: 1, extra_body: empty }), [{ a: 1 }, []])
    for (const wrong of ['x', 1, true, [1]]) {
      t.throws(() => send({ extra_body: wrong }), { code: 'unsupported_parameter', param: 'extra_body' })
    }
  }
)

t.test('no wire gets a member that chooses another model or provider (decisions.md 72)', async t => {
  const routes = { models: ['a'], fallbacks: null, route: 'fallback' }
  t.strictSame(send({ a: 1, ...routes }), [{ a: 1 }, ['models', 'route']])
  t.strictSame(send({ extra_body: { ...routes, a: 1 } }), [{ a: 1 }, ['extra_body.models', 'extra_body.route']])
})
