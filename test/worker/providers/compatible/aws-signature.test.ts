// Requests are signed with Signature Version 4 as they go out: a strict verifier recomputes everything from what arrived
// (providers.md 1).

import t, { type Test } from 'tap'
import type { ProviderProfile } from '../../../../shared/profile/profile.ts'
import { type AwsAccount, computeSignature, startAwsService } from '../../../support/aws-verifier.ts'
import { compatibleCall, startCompatible } from '../support/compatible.ts'
import { contextOf, createSink } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'

const ACCOUNT: AwsAccount = {
  accessKeyId: 'AKIDC4NARY',
  secretAccessKey: 'wJalr/c4nary+secret',
  sessionToken: 'FwoG/c4nary=='
}
const NOW_MS = Date.UTC(2026, 10, 29, 12, 0, 0)

async function startSigned(
  t: Test,
  {
    account = ACCOUNT,
    own = account,
    skewMs = 0,
    more = {}
  }: { account?: AwsAccount; own?: Partial<AwsAccount>; skewMs?: number; more?: Partial<ProviderProfile> } = {}
) {
  const service = await startAwsService(t, { account, region: 'eu-west-1', service: 'bedrock', nowMs: () => NOW_MS })
  const { executorOf, memory } = startCompatible(
    t,
    {
      p1: {
        baseUrl: service.origin,
        more: { auth: { type: 'aws_sigv4', region: 'eu-west-1', service: 'bedrock' }, ...more },
        variables: {
          ...(own.accessKeyId === undefined ? {} : { AWS_ACCESS_KEY_ID: own.accessKeyId }),
          ...(own.secretAccessKey === undefined ? {} : { AWS_SECRET_ACCESS_KEY: own.secretAccessKey }),
          ...(own.sessionToken === undefined ? {} : { AWS_SESSION_TOKEN: own.sessionToken })
        }
      }
    },
    { clocks: { now: () => NOW_MS + skewMs } }
  )
  const call = async (changes: object = {}, isStream = false): Promise<string> => {
    const sink = createSink()
    await executorOf('p1').chat({ ...compatibleCall({ isStream }), ...changes }, contextOf(), sink)
    return sink.text()
  }
  return { service, call, memory }
}

t.test('the verifier computes the signature of the published example', async t => {
  const headers = new Map([
    ['host', 'example.amazonaws.com'],
    ['x-amz-date', '20150830T123600Z']
  ])
  const signature = computeSignature({
    message: { method: 'GET', target: '/' },
    headers,
    signed: ['host', 'x-amz-date'],
    bodyHash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    date: '20150830T123600Z',
    region: 'us-east-1',
    service: 'service',
    account: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
  })
  t.equal(signature, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31')
})

t.test('providers 6: whole and streamed calls are signed, with a session and without', async t => {
  const { sessionToken: _, ...lasting } = ACCOUNT
  for (const account of [ACCOUNT, lasting]) {
    const { service, call, memory } = await startSigned(t, { account })
    // The first call loads the library, the others find it.
    const first = await Promise.all([call(), call({}, true)])
    t.same([...first, await call(), await call({}, true)], ['hi', 'hi', 'hi', 'hi'])
    t.same(service.deviations, [])
    t.notMatch(memory.text(), /c4nary/)
  }
})

t.test('paths, queries and bodies of every form arrive as they were signed', async t => {
  const { service, call } = await startSigned(t)
  const paths = [
    '/model/anthropic.claude-v2%3A1/invoke',
    '/v1/models/gemini-pro:generateContent?alt=sse',
    '/a%20b/c%2Fd/~e_f.g-h',
    '/say?b=2&a=1&a=0&empty=&bare',
    '/say?name=%C3%A4%20%2B%26&x=a%3Db'
  ]
  for (const path of paths) t.equal(await call({ path }), 'hi', path)
  const json = Buffer.from(JSON.stringify({ say: 'ä'.repeat(400_000) }))
  const pieces = [json.subarray(0, 300_001), json.subarray(300_001)]
  for (const body of [Buffer.from('{}'), json, pieces]) t.equal(await call({ body }), 'hi')
  t.same(service.messages.map(({ target }) => target).slice(0, paths.length), paths)
  t.same(service.deviations, [])
})

t.test('the headers and parameters of the profile are there when the request is signed', async t => {
  const { service, call } = await startSigned(t, {
    more: { headers: { 'x-team': 'research' }, query: { 'api version': '2026-10-01', z: 'ä/b' } }
  })
  for (const path of ['/say', '/say?b=1']) t.equal(await call({ path }), 'hi', path)
  t.same(
    service.messages.map(({ target }) => target),
    ['/say?api%20version=2026-10-01&z=%C3%A4%2Fb', '/say?b=1&api%20version=2026-10-01&z=%C3%A4%2Fb']
  )
  t.ok(service.messages.every(({ rawHeaders }) => rawHeaders.includes('research')))
  t.same(service.deviations, [])
})

t.test('a wrong key, a wrong session or a wrong clock is refused, once', async t => {
  const rows: Array<[name: string, options: Parameters<typeof startSigned>[1], deviation: string]> = [
    ['key', { own: { ...ACCOUNT, secretAccessKey: 'another' } }, 'the signature'],
    ['session', { own: { ...ACCOUNT, sessionToken: 'another' } }, 'the session'],
    ['clock', { skewMs: 3_600_000 }, 'the time']
  ]
  for (const [name, options, deviation] of rows) {
    const { service, call } = await startSigned(t, options)
    for (const isStream of [false, true]) t.match(await rejection(call({}, isStream)), { status: 403 }, name)
    t.same(service.deviations, [deviation, deviation], name)
  }
})

t.test('without keys no call is sent', async t => {
  const { service, call } = await startSigned(t, { own: { accessKeyId: 'AKIDC4NARY' } })
  for (const isStream of [false, true]) {
    t.match(await rejection(call({}, isStream)), { code: 'credential_unavailable', status: 502 })
  }
  t.equal(service.messages.length, 0)
})
