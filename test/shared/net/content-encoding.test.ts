import {
  brotliCompressSync,
  constants,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync
} from 'node:zlib'
import t from 'tap'
import {
  type CompressedEncoding,
  createDecompressor,
  decompress,
  readContentEncoding
} from '../../../shared/net/content-encoding.ts'
import { noticesCuts } from '../../support/engine.ts'
import * as fc from '../../support/properties.ts'

const formats: ReadonlyArray<[encoding: CompressedEncoding, compress: (bytes: Uint8Array) => Buffer]> = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync]
]

t.test('a header names one known encoding, in any case and with identity beside it', async t => {
  for (const name of ['gzip', 'deflate', 'br', 'zstd']) t.equal(readContentEncoding(name), name)
  t.equal(readContentEncoding('x-gzip'), 'gzip')
  t.equal(readContentEncoding(' GZip , identity'), 'gzip')
  for (const header of [undefined, '', ' , ', 'identity', 'Identity, identity']) {
    t.equal(readContentEncoding(header), 'identity', String(header))
  }
  for (const header of ['compress', 'gzip, br', 'gzip, gzip', 'toString']) {
    t.equal(readContentEncoding(header), undefined, header)
  }
})

t.test('every format of every level is decompressed to the bytes that were compressed', async t => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), async bytes => {
      for (const [encoding, compress] of formats) {
        t.same(await decompress(compress(bytes), encoding, bytes.length), Buffer.from(bytes), encoding)
      }
      for (const level of [0, 1, 9]) {
        for (const compress of [deflateSync, deflateRawSync]) {
          t.same(await decompress(compress(bytes, { level }), 'deflate', bytes.length), Buffer.from(bytes))
        }
      }
    }),
    { numRuns: 30 }
  )
})

t.test('the first byte alone tells zlib from raw deflate', async t => {
  const text = Buffer.from('{"text":"some text, some text"}')
  for (const compress of [deflateSync, deflateRawSync]) {
    const body = compress(text)
    const decompressor = createDecompressor('deflate', body.subarray(0, 1))
    for (const byte of body) decompressor.write(Buffer.of(byte))
    decompressor.end()
    t.same(Buffer.concat(await decompressor.toArray()), text)
  }
})

t.test('output beyond the bound gives undefined, and output at the bound is taken', async t => {
  const bytes = Buffer.alloc(100_000)
  for (const [encoding, compress] of formats) {
    const body = compress(bytes)
    t.equal(await decompress(body, encoding, bytes.length - 1), undefined, encoding)
    t.equal((await decompress(body, encoding, bytes.length))?.length, bytes.length, encoding)
  }
})

t.test('broken, truncated and empty data is rejected', async t => {
  const text = Buffer.from('{"a":"some text that is long enough to be cut in two"}')
  for (const [encoding, compress] of formats) {
    const body = compress(text)
    const message = `${encoding} of uncompressed data`
    await t.rejects(decompress(Buffer.from('x not compressed'), encoding, 1000), message)
    for (const cut of [body.subarray(0, body.length - 8), Buffer.alloc(0)]) {
      const reading = decompress(cut, encoding, 1000)
      if (noticesCuts(encoding)) await t.rejects(reading, `${encoding} of ${cut.length} bytes`)
      // The reader of the body finds no whole JSON in it.
      else t.ok(((await reading)?.length ?? 0) < text.length, `${encoding} of ${cut.length} bytes`)
    }
  }
})

t.test('data that asks for a window beyond the bound is rejected', async t => {
  const bytes = Buffer.alloc(1000, 'a')
  const large: ReadonlyArray<[CompressedEncoding, Buffer]> = [
    ['zstd', await zstdWithWindow(27, bytes)],
    ['br', brotliWithWindow(30, bytes)]
  ]
  for (const [encoding, body] of large) await t.rejects(decompress(body, encoding, 10_000), encoding)
  t.same(await decompress(await zstdWithWindow(23, bytes), 'zstd', 10_000), bytes)
  t.same(await decompress(brotliWithWindow(24, bytes), 'br', 10_000), bytes)
})

/** The window is written into the frame only when its size is unknown at its start, so the data is flushed before the end. */
async function zstdWithWindow(windowLog: number, bytes: Uint8Array): Promise<Buffer> {
  const compressor = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: windowLog } })
  compressor.write(bytes)
  compressor.flush(() => compressor.end())
  return Buffer.concat(await compressor.toArray())
}

function brotliWithWindow(windowLog: number, bytes: Uint8Array): Buffer {
  const isLarge = windowLog > constants.BROTLI_MAX_WINDOW_BITS
  return brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_LARGE_WINDOW]: isLarge, [constants.BROTLI_PARAM_LGWIN]: windowLog }
  })
}
