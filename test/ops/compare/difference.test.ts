import t from 'tap'
import { findDifferences } from '../../../ops/compare/difference.ts'
import { createNormalizer } from '../../../ops/compare/normalize.ts'
import type { Transcript, WireResponse } from '../../../ops/compare/types.ts'
import { writeToolCallId } from '../../../worker/normalized/index.ts'

const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5)
const [first, second] = ['0af76519-16cd-43dd-8448-eb211c80319c', '11111111-2222-4333-8444-555555555555'] as const

function compare(old: string, fresh: string) {
  const write = (body: string): Transcript => ({
    upstream: [],
    client: [{ status: 200, headers: ['X-Id', 'a'], body: Buffer.from(body), end: 'complete' }]
  })
  return findDifferences({
    old: { transcript: write(old), nowMs, ports: { gateway: 1001 } },
    new: { transcript: write(fresh), nowMs, ports: { gateway: 1002 } }
  })
}

t.test(
  'what must differ between two runs is equal: ids, ports, times of the clock and ids made of a nonce',
  async t => {
    const idOf = (nonce: string) => writeToolCallId({ stateId: undefined, name: 'f', callNumber: 0, nonce })
    const pairs = [
      [`{"id":"chatcmpl-${first}"}`, `{"id":"chatcmpl-${second}"}`],
      ['http://127.0.0.1:1001/v1', 'http://127.0.0.1:1002/v1'],
      [`{"created":${nowMs / 1000}}`, `{"created":${nowMs / 1000 + 5}}`],
      [`{"at":"${new Date(nowMs).toISOString()}"}`, `{"at":"${new Date(nowMs + 5).toISOString()}"}`],
      [`date: ${new Date(nowMs).toUTCString()}`, `date: ${new Date(nowMs + 5_000).toUTCString()}`],
      [idOf(first), idOf(second)],
      [Buffer.from(idOf(first)).toString('base64'), Buffer.from(idOf(second)).toString('base64')],
      [`00-${first.replaceAll('-', '')}-8448eb211c80319c-00`, `00-${second.replaceAll('-', '')}-8444555555555555-00`]
    ] as const
    for (const [old, fresh] of pairs) t.strictSame(compare(old, fresh), [], old)
  }
)

t.test('everything else differs: bytes, times of the upstream, the place of an id, a header, an end', async t => {
  const upstreamSeconds = nowMs / 1000 + 86_400
  const pairs = [
    ['{"a":1}', '{"a":2}'],
    ['{"a":1}', '{"a": 1}'],
    [`{"created":${upstreamSeconds}}`, `{"created":${upstreamSeconds + 1}}`],
    [`${first} ${second} ${first}`, `${first} ${second} ${second}`],
    ['call_gw_x', 'call_gw_y']
  ] as const
  for (const [old, fresh] of pairs) t.equal(compare(old, fresh)[0]?.where, 'client response 1', old)
  const response: WireResponse = { status: 200, headers: ['A', '1'], body: Buffer.from('x'), end: 'complete' }
  const request = { method: 'POST', path: '/', headers: [], body: Buffer.from('y') }
  const changed: Transcript[] = [
    { upstream: [request], client: [{ ...response, status: 201 }] },
    { upstream: [request], client: [{ ...response, headers: ['A', '2'] }] },
    { upstream: [request], client: [{ ...response, end: 'broken' }] },
    { upstream: [request], client: [] },
    { upstream: [request, request], client: [response] },
    { upstream: [{ ...request, path: '/other' }], client: [response] }
  ]
  const side = (transcript: Transcript) => ({ transcript, nowMs, ports: {} })
  for (const transcript of changed) {
    const differences = findDifferences({
      old: side({ upstream: [request], client: [response] }),
      new: side(transcript)
    })
    t.equal(differences.length, 1)
  }
})

t.test('ids are numbered by their first appearance', async t => {
  const normalize = createNormalizer({ nowMs, ports: {} })
  t.equal(normalize(`${second} ${first}`), '<id 1> <id 2>')
  t.equal(normalize(first.replaceAll('-', '').toUpperCase()), '<id 2>')
})

t.test('how long a response took is no difference', async t => {
  const normalize = createNormalizer({ nowMs, ports: {} })
  t.equal(
    normalize('200 ended\nopenai-processing-ms: 12\nserver-timing: total;dur=12.3\ncontent-length: 12\n\n'),
    '200 ended\nopenai-processing-ms: <duration>\nserver-timing: total;dur=<duration>\ncontent-length: 12\n\n'
  )
})
