import t from 'tap'
import { readCapabilityQuery } from '../../../../worker/bridge/capabilities/capability-query.ts'
import { GatewayError } from '../../../../worker/normalized/index.ts'

const read = (query: Record<string, string | string[]>) => readCapabilityQuery(query, { defaultApiMode: 'v1' })

function reasonOf(query: Record<string, string | string[]>): unknown {
  try {
    return read(query)
  } catch (error) {
    if (!GatewayError.is(error)) throw error
    return [error.status, error.code, error.reason]
  }
}

t.test('without one of the three parameters the support matrix is asked for', async t => {
  t.equal(read({}), undefined)
  t.equal(read({ other: 'x', refresh: '1' }), undefined)
})

t.test('the API mode of unprefixed routes stands in for an absent one', async t => {
  const query = { model: 'm', protocol: 'openai_responses' }
  t.same(read(query), { model: 'm', publicProtocol: 'openai_responses', apiMode: 'v1' })
  t.same(read({ ...query, api_mode: 'v2' }), { model: 'm', publicProtocol: 'openai_responses', apiMode: 'v2' })
})

t.test('every way to ask wrongly has its reason', async t => {
  const incomplete = [400, 'invalid_request', 'incomplete_capability_query']
  const protocol = 'openai_responses'
  for (const query of [
    { model: 'm' },
    { model: '', protocol },
    { model: 'm', protocol: '' },
    { protocol },
    { api_mode: 'v2' },
    { api_mode: '' },
    { model: ['m', 'n'], protocol }
  ]) {
    t.same(reasonOf(query), incomplete, JSON.stringify(query))
  }
  for (const unknown of ['x', 'responses', 'OPENAI_RESPONSES', [protocol, protocol]]) {
    t.same(reasonOf({ model: 'm', protocol: unknown }), [400, 'invalid_request', 'unknown_public_protocol'])
  }
  for (const apiMode of ['v3', 'V1', '', ['v1', 'v2']]) {
    t.same(reasonOf({ model: 'm', protocol, api_mode: apiMode }), [400, 'invalid_request', 'unknown_api_mode'])
  }
})
