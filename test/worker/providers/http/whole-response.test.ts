import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { ResponseCollector, readHeader, readJson } from '../../../../worker/providers/http/whole-response.ts'
import { rejection } from '../support/rejection.ts'

const control = { pause: () => undefined, resume: () => undefined, cancel: () => undefined }

async function collect(
  bytes: Buffer,
  headers: Record<string, string>,
  options: { status?: number; bytesMax?: number } = {}
) {
  const collector = new ResponseCollector(options.bytesMax)
  collector.onHead({ status: options.status ?? 200, headers }, control)
  const middle = Math.floor(bytes.length / 2)
  collector.onData(bytes.subarray(0, middle))
  collector.onData(bytes.subarray(middle))
  return collector.take()
}

t.test('packed answers are unpacked, whatever is meant by deflate', async t => {
  const text = Buffer.from('{"text":"длинный ответ"}')
  for (const [encoding, packed] of [
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['identity', text]
  ] as const) {
    const answer = await collect(packed, { 'content-encoding': encoding })
    t.same(readJson(answer), { text: 'длинный ответ' }, encoding)
  }
})

t.test('an encoding that was not asked for is an answer that cannot be used', async t => {
  const failure = await rejection(collect(brotliCompressSync('{}'), { 'content-encoding': 'br' }))
  t.match(failure, { error: { code: 'provider_protocol_error', status: 502 } })
})

t.test('broken packed bytes are a transport failure', async t => {
  const failure = await rejection(collect(gzipSync('text').subarray(0, 12), { 'content-encoding': 'gzip' }))
  t.match(failure, { error: { code: 'provider_failure' }, isRetryable: true })
})

t.test(
  'an answer beyond its bound is refused by its announced length, by its bytes, and by what it unpacks to',
  async t => {
    const bytes = Buffer.alloc(100)
    t.match(await rejection(collect(bytes, { 'content-length': '100' }, { bytesMax: 99 })), {
      error: { code: 'provider_protocol_error' }
    })
    t.match(await rejection(collect(bytes, {}, { bytesMax: 99 })), { error: { code: 'provider_protocol_error' } })
    t.match(await rejection(collect(gzipSync(bytes), { 'content-encoding': 'gzip' }, { bytesMax: 99 })), {
      error: { code: 'provider_protocol_error' }
    })
    t.equal((await collect(bytes, {}, { bytesMax: 100 })).bytes.length, 100)
  }
)

t.test('a long error page is cut and ends the exchange', async t => {
  let cancels = 0
  const collector = new ResponseCollector()
  collector.onHead({ status: 502, headers: {} }, { ...control, cancel: () => (cancels += 1) })
  collector.onData(Buffer.alloc(60_000, 'x'))
  collector.onData(Buffer.alloc(60_000, 'y'))
  const answer = await collector.take()
  t.equal(answer.bytes.length, 60_000)
  t.equal(cancels, 1)
})

t.test('a body that is no JSON is an answer that cannot be used', async t => {
  const answer = await collect(Buffer.from('<html>'), {})
  t.throws(() => readJson(answer), { name: 'CallFailure', errorType: 'protocol_error' })
  t.equal(readHeader({ a: ['1', '2'] }, 'a'), '1')
  t.equal(readHeader({}, 'a'), undefined)
})

t.test('the status of an error counts although nobody can read its body (decision 6)', async t => {
  for (const [encoding, bytes] of [
    ['br', brotliCompressSync('{}')],
    ['gzip', gzipSync('text').subarray(0, 12)]
  ] as const) {
    const headers = { 'content-encoding': encoding, 'retry-after': '7' }
    const answer = await collect(bytes, headers, { status: 429 })
    t.match(answer, { status: 429, headers: { 'retry-after': '7' } })
    t.equal(answer.bytes.length, 0)
  }
})
