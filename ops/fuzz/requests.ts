// Cases of requests: a valid request of any operation, changed structurally, by bytes, or in its content encoding.

import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { applyEdits, type ByteEdit, createEdits } from './bytes.ts'
import { ExchangeError } from './client.ts'
import { copyTree, listSmallerTrees, mutateTree, type Tree, writeTree } from './json-tree.ts'
import type { Random } from './random.ts'
import { type RequestBase, readRequestBases } from './request-bases.ts'
import { type Asked, findBrokenRule, findUpstreamFault, hasNullIn } from './rules.ts'
import { type FuzzTarget, GATEWAY_KEY } from './target.ts'
import type { FuzzKind } from './types.ts'
import { CASE_HEADER } from './upstream.ts'

interface RequestCase {
  base: Pick<RequestBase, 'name' | 'family' | 'method' | 'path'>
  headers: Record<string, string>
  body: Tree
  edits: ByteEdit[]
  encoding: Encoding | undefined
}

const encoders = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }
interface Encoding {
  /** How the bytes are written. */
  actual: keyof typeof encoders | 'identity'
  /** What the header says. */
  named: string
}

const ODD_HEADERS: ReadonlyArray<Record<string, string>> = [
  { 'content-type': 'text/plain' },
  { 'content-type': 'multipart/form-data; boundary=x' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'x-custom': 'v'.repeat(3000) },
  { 'x-gateway-attachment-ids': 'a,,b' },
  { 'x-request-id': 'r'.repeat(300) },
  { accept: 'text/x' },
  { 'anthropic-beta': 'x'.repeat(2000) },
  { traceparent: '00-zz-1-1' },
  Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`x-custom-${index}`, 'v'.repeat(100)]))
]

/** Model names for the paths of the content family. */
const ODD_MODELS = ['models/GigaChat-2', 'a/b:c', '..', '%', 'x'.repeat(1100), '\u0000', 'GigaChat-2-Max:preview', ' ']

let caseCount = 0

export function createRequestKind(): FuzzKind<RequestCase> {
  const { bases, donors } = readRequestBases()
  return {
    name: 'requests',
    concurrency: 8,
    create(random) {
      const { name, family, method, path, headers, body } = random.pick(bases)
      const fuzzed: RequestCase = {
        base: { name, family, method, path: changePath(path, random) },
        // The headers of a model list decide its family.
        headers: method === 'POST' && random.chance(0.1) ? { ...headers, ...random.pick(ODD_HEADERS) } : headers,
        body: copyTree(body),
        edits: random.chance(0.12) ? createEdits(random) : [],
        encoding: random.chance(0.08) ? createEncoding(random) : undefined
      }
      for (let count = random.chance(0.1) ? 0 : 1 + random.below(4); count > 0; count--)
        mutateTree(fuzzed.body, random, donors)
      return fuzzed
    },
    run,
    *listSmaller(fuzzed) {
      if (fuzzed.encoding !== undefined) yield { ...fuzzed, encoding: undefined }
      for (const index of fuzzed.edits.keys()) yield { ...fuzzed, edits: fuzzed.edits.toSpliced(index, 1) }
      if (Object.keys(fuzzed.headers).length > 0) yield { ...fuzzed, headers: {} }
      for (const body of listSmallerTrees(fuzzed.body)) yield { ...fuzzed, body }
    },
    describe: ({ base, headers, encoding, ...rest }) => ({
      summary: { ...base, headers, encoding },
      bytes: writeBody({ base, headers, encoding, ...rest }) ?? Buffer.alloc(0)
    })
  }
}

async function run(fuzzed: RequestCase, target: FuzzTarget): Promise<string | undefined> {
  const id = `request-${++caseCount}`
  const upstream = target.upstream.open(id)
  try {
    const { base, headers, encoding } = fuzzed
    const body = writeBody(fuzzed)
    const response = await target.client.send({
      method: base.method,
      path: base.path,
      body,
      headers: {
        'content-type': 'application/json',
        ...headers,
        ...(encoding === undefined ? {} : { 'content-encoding': encoding.named }),
        'x-api-key': GATEWAY_KEY,
        [CASE_HEADER]: id
      }
    })
    const client = fuzzed.edits.length === 0 && encoding === undefined ? readObject(body) : undefined
    const secrets = target.listSecrets()
    const context = { upstream, secrets, isFieldFault: client !== undefined, isUpstreamHonest: true }
    const asked = readAsked(base, response.headers.get('content-type') ?? '')
    return (
      findBrokenRule(response, asked, context) ?? findUpstreamFault(upstream, client === undefined || hasNullIn(client))
    )
  } catch (error) {
    if (error instanceof ExchangeError) return error.message
    throw error
  } finally {
    target.upstream.close(id)
  }
}

function writeBody({ body, edits, encoding }: RequestCase): Buffer | undefined {
  if (body === undefined) return undefined
  const plain = Buffer.from(writeTree(body))
  const packed = encoding === undefined || encoding.actual === 'identity' ? plain : encoders[encoding.actual](plain)
  return applyEdits(packed, edits)
}

/** The object that the gateway reads; undefined when the body is none. */
function readObject(body: Buffer | undefined): object | undefined {
  try {
    const parsed: unknown = JSON.parse(body?.toString('utf8') ?? '')
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** A mutated body decides itself whether it asks for a stream, so the response's media type tells. */
function readAsked({ family, path, method }: RequestCase['base'], contentType: string): Asked {
  if (contentType.startsWith('text/event-stream')) return { family, form: 'stream' }
  if (path.includes('alt=json')) return { family, form: 'array-stream' }
  const isOther = method === 'GET' || /embed|count_?tokens/i.test(path)
  return { family, form: isOther ? 'other' : 'chat' }
}

function changePath(path: string, random: Random): string {
  const model = /(?<=\/models\/)[^:?]+(?=:)/
  if (!model.test(path) || !random.chance(0.05)) return path
  return path.replace(model, encodeURIComponent(random.pick(ODD_MODELS)))
}

function createEncoding(random: Random): Encoding {
  const actual = random.pick(['gzip', 'deflate', 'br', 'zstd', 'identity'] as const)
  const named = random.chance(0.7)
    ? actual
    : random.pick(['gzip', 'br', 'zstd', 'gzip, br', 'compress', '', ',', 'GZIP'])
  return { actual, named }
}
