import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { ResponseCollector, readJson } from '../../../../worker/providers/http/whole-response.ts'
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
  collector.onData([bytes.subarray(0, middle), bytes.subarray(middle)])
  return collector.take() ?? (await collector.decompress())
}

t.test('compressed responses are decompressed, deflate in both of its formats', async t => {
  const text = Buffer.from('{"text":"длинный ответ"}')
  for (const [encoding, compressed] of [
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['identity', text]
  ] as const) {
    const response = await collect(compressed, { 'content-encoding': encoding })
    t.same(readJson(response), { text: 'длинный ответ' }, encoding)
  }
})

t.test('a content encoding that was not asked for is a protocol error', async t => {
  const failure = await rejection(collect(brotliCompressSync('{}'), { 'content-encoding': 'br' }))
  t.match(failure, { error: { code: 'provider_protocol_error', status: 502 } })
})

t.test('broken compressed data is a transport failure', async t => {
  const failure = await rejection(collect(gzipSync('text').subarray(0, 12), { 'content-encoding': 'gzip' }))
  t.match(failure, { error: { code: 'provider_failure' }, outcome: 'protocol_error', isRetryable: true })
})

t.test(
  'a response beyond its bound is refused by its announced length, by its bytes, and by its decompressed bytes',
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

t.test('a long error body is cut and ends the exchange', async t => {
  let cancels = 0
  const collector = new ResponseCollector()
  collector.onHead({ status: 502, headers: {} }, { ...control, cancel: () => (cancels += 1) })
  collector.onData([Buffer.alloc(60_000, 'x')])
  collector.onData([Buffer.alloc(60_000, 'y')])
  t.equal(collector.take()?.bytes.length, 60_000)
  t.equal(cancels, 1)
})

t.test('a body that is not JSON is a protocol error', async t => {
  const response = await collect(Buffer.from('<html>'), {})
  t.match(await rejection((async () => readJson(response))()), { error: { code: 'provider_protocol_error' } })
})

t.test('the status of an error counts even when its body cannot be decompressed (decisions.md 6)', async t => {
  for (const [encoding, bytes] of [
    ['br', brotliCompressSync('{}')],
    ['gzip', gzipSync('text').subarray(0, 12)]
  ] as const) {
    const headers = { 'content-encoding': encoding, 'retry-after': '7' }
    const response = await collect(bytes, headers, { status: 429 })
    t.match(response, { status: 429, headers: { 'retry-after': '7' } })
    t.equal(response.bytes.length, 0)
  }
})
