// Cases of upstream responses: whole bodies, streams, embeddings, token counts and uploads, changed structurally, by bytes, in their
// heads, in the order of their frames and in how they end, for every client family.

import { gzipSync } from 'node:zlib'
import { families, model, versions, writeChat, writePrompt } from '../compare/corpus/families.ts'
import { type AnswerBase, type Block, readAnswerBases, writeBlock } from './answer-bases.ts'
import { applyEdits, type ByteEdit, createEdits, cutIntoPieces } from './bytes.ts'
import { ExchangeError } from './client.ts'
import { collectDonors, copyTree, type Donors, listSmallerTrees, mutateTree } from './json-tree.ts'
import { createRandom, type Random } from './random.ts'
import type { Family } from './readers.ts'
import { type Asked, findBrokenRule } from './rules.ts'
import { type FuzzTarget, GATEWAY_KEY } from './target.ts'
import type { FuzzKind } from './types.ts'
import { CASE_HEADER, type Script, TOKEN_MARK } from './upstream.ts'

interface Question {
  asked: Asked
  path: string
  body: object
}

interface AnswerCase {
  name: string
  question: Question
  path: AnswerBase['path']
  status: number
  headers: string[]
  blocks: Block[]
  edits: ByteEdit[]
  isPacked: boolean
  ending: Script['ending']
  /** Decides where the bytes are cut into segments. */
  cuts: number
}

const STATUSES = [204, 301, 304, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 451, 500, 501, 502, 503, 504, 599]
const MEDIA_TYPES = [
  'application/json',
  'text/event-stream',
  'text/event-stream; charset=utf-16',
  'text/html',
  'application/octet-stream',
  '',
  'x'
]
const ODD_HEADERS = [
  ['retry-after', '5'],
  ['retry-after', '-1'],
  ['retry-after', '\xe4\xf6\t\x80'],
  ['retry-after', 'Wed, 21 Oct 2099 07:28:00 GMT'],
  ['retry-after', '9'.repeat(400)],
  ['x-request-id', '\xff\xfe'],
  ['x-session-id', 's'.repeat(4000)],
  ['content-encoding', 'gzip'],
  ['content-encoding', 'br, unknown'],
  ['content-length', '10'],
  ['content-length', '100000'],
  ['connection', 'close'],
  ['location', 'http://[::1]/x'],
  ['set-cookie', 'a=b']
] as const
const ERRORS = [
  { status: 400, message: 'Bad \ud800 request' },
  { status: 401, message: `The token ${TOKEN_MARK} has expired` },
  { code: 7, message: `${TOKEN_MARK}` },
  { error: { message: 'm', code: 429 } },
  { message: null },
  { message: 'x'.repeat(100_000) },
  { status: 'ERROR', message: { a: 1 } }
]

let caseCount = 0

export function createAnswerKind(): FuzzKind<AnswerCase> {
  const bases = readAnswerBases()
  const blocks = bases.flatMap(base => base.blocks)
  const donors = collectDonors(
    blocks.map(({ tree }) => tree),
    []
  )
  return {
    name: 'answers',
    concurrency: 8,
    create(random) {
      const base = random.pick(bases)
      const fuzzed: AnswerCase = {
        name: base.name,
        question: ask(base, random),
        path: base.path,
        status: base.status,
        headers: ['content-type', base.isStream ? 'text/event-stream' : 'application/json'],
        blocks: base.blocks.map(copyBlock),
        edits: random.chance(0.15) ? createEdits(random) : [],
        isPacked: random.chance(0.05),
        ending: random.chance(0.08) ? 'destroy' : random.chance(0.004) ? 'hang' : 'end',
        cuts: random.below(2 ** 31)
      }
      changeHead(fuzzed, random)
      if (base.isStream) changeOrder(fuzzed, random, blocks)
      changeTrees(fuzzed, random, donors)
      return fuzzed
    },
    run,
    *listSmaller(fuzzed) {
      if (fuzzed.isPacked) yield { ...fuzzed, isPacked: false }
      if (fuzzed.cuts !== 0) yield { ...fuzzed, cuts: 0 }
      for (const index of fuzzed.edits.keys()) yield { ...fuzzed, edits: fuzzed.edits.toSpliced(index, 1) }
      if (fuzzed.headers.length > 2) yield { ...fuzzed, headers: fuzzed.headers.slice(0, 2) }
      const { blocks } = fuzzed
      for (const index of blocks.keys()) yield { ...fuzzed, blocks: blocks.toSpliced(index, 1) }
      for (const [index, block] of blocks.entries()) {
        for (const tree of listSmallerTrees(block.tree)) {
          yield { ...fuzzed, blocks: blocks.with(index, { ...block, tree }) }
        }
      }
      for (const body of listSmallerTrees(fuzzed.question.body)) {
        yield { ...fuzzed, question: { ...fuzzed.question, body: body as object } }
      }
    },
    describe(fuzzed) {
      const { blocks: _blocks, edits, ...summary } = fuzzed
      return { summary: { ...summary, edits: edits.length }, bytes: writeBytes(fuzzed) }
    }
  }
}

async function run(fuzzed: AnswerCase, target: FuzzTarget): Promise<string | undefined> {
  const id = `answer-${++caseCount}`
  const { question, path, status, ending } = fuzzed
  const headers = fuzzed.isPacked ? [...fuzzed.headers, 'content-encoding', 'gzip'] : fuzzed.headers
  const bytes = writeBytes(fuzzed)
  const pieces = fuzzed.cuts === 0 ? [bytes] : cutIntoPieces(bytes, createRandom(fuzzed.cuts), 6)
  const upstream = target.upstream.open(id, { path, status, headers, pieces, ending })
  try {
    const response = await target.client.send({
      method: 'POST',
      path: question.path,
      headers: { 'content-type': 'application/json', 'x-api-key': GATEWAY_KEY, [CASE_HEADER]: id },
      body: Buffer.from(JSON.stringify(question.body).replace('UNIQUE', Buffer.from(id).toString('base64')))
    })
    const context = { upstream, secrets: target.listSecrets(), isFieldFault: false, isUpstreamHonest: false }
    return findBrokenRule(response, question.asked, context)
  } catch (error) {
    if (error instanceof ExchangeError) return error.message
    throw error
  } finally {
    target.upstream.close(id)
  }
}

function writeBytes({ blocks, edits, isPacked }: AnswerCase): Buffer {
  const plain = Buffer.from(blocks.map(writeBlock).join(''))
  return applyEdits(isPacked ? gzipSync(plain) : plain, edits)
}

function copyBlock(block: Block): Block {
  return { ...block, tree: copyTree(block.tree) }
}

function changeHead(fuzzed: AnswerCase, random: Random): void {
  if (random.chance(0.1)) {
    fuzzed.status = random.pick(STATUSES)
    if (random.chance(0.7)) fuzzed.blocks = [{ before: '', tree: copyTree(random.pick(ERRORS)), after: '' }]
  }
  if (random.chance(0.06)) fuzzed.headers = ['content-type', random.pick(MEDIA_TYPES)]
  if (random.chance(0.06)) fuzzed.headers.push(...random.pick(ODD_HEADERS))
}

/** Drops, repeats, swaps and inserts frames, the frames of other streams too. */
function changeOrder(fuzzed: AnswerCase, random: Random, foreign: readonly Block[]): void {
  for (let count = random.below(4); count > 0; count--) {
    const { blocks } = fuzzed
    const index = random.below(blocks.length + 1)
    switch (random.below(6)) {
      case 0:
        blocks.splice(index, 1)
        break
      case 1:
        blocks.splice(index, 0, ...blocks.slice(index, index + 1 + random.below(3)).map(copyBlock))
        break
      case 2:
        blocks.push(...blocks.splice(index, 1))
        break
      case 3:
        blocks.splice(index)
        break
      case 4: {
        const { before, tree, after } = copyBlock(random.pick(foreign))
        blocks.splice(index, 0, before === '' ? { before: 'data: ', tree, after: '\n\n' } : { before, tree, after })
        break
      }
      default:
        blocks.splice(index, 0, { before: random.pick(FRAMES), tree: undefined, after: '\n\n' })
    }
  }
}

const FRAMES = [
  'data: [DONE]',
  'data:',
  ': comment',
  'event: error\ndata: {"message":"m","status":500}',
  `data: {"error":{"message":"${TOKEN_MARK}"}}`,
  'data: {"status":429,"message":"slow"}',
  'event: response.message.done\ndata: null',
  'data: "text"',
  'data: {"choices":[{"delta":{"content":"\\ud800"},"index":0}]}',
  'retry: 1\nid: 7\ndata: []',
  'data: {"choices":[]}\rdata: {}',
  `data: ${'x'.repeat(100_000)}`
]

function changeTrees({ blocks }: AnswerCase, random: Random, donors: Donors): void {
  if (blocks.length === 0) return
  for (let count = random.below(4); count > 0; count--) mutateTree(random.pick(blocks).tree, random, donors)
}

/** A request whose upstream call has the path and the contract of the response. */
function ask(base: AnswerBase, random: Random): Question {
  switch (base.path) {
    case '/embeddings':
      return random.pick(EMBEDDINGS)
    case '/tokens/count':
      return random.pick(COUNTS)
    default:
      return askChat(base, random)
  }
}

const other = (family: Family): Asked => ({ family, form: 'other' })
const TEXT = { parts: [{ text: 'a' }] }
const EMBEDDINGS: readonly Question[] = [
  { asked: other('completions'), path: '/v1/embeddings', body: { model: 'Embeddings', input: ['a', 'b'] } },
  { asked: other('completions'), path: '/v2/embeddings', body: { input: 'a', encoding_format: 'base64' } },
  { asked: other('content'), path: '/v1beta/models/Embeddings:embedContent', body: { content: TEXT } },
  { asked: other('content'), path: '/v2/models/E:batchEmbedContents', body: { requests: [{ content: TEXT }] } }
]
const COUNTS: readonly Question[] = [
  {
    asked: other('messages'),
    path: '/v1/messages/count_tokens',
    body: { model, messages: [{ role: 'user', content: 'a' }] }
  },
  { asked: other('content'), path: `/v1beta/models/${model}:countTokens`, body: { contents: [TEXT] } }
]

function askChat(base: AnswerBase, random: Random): Question {
  const family = random.pick(families)
  const version = base.version ?? random.pick(versions)
  const { isStream } = base
  const prompt = base.path === '/files' ? PICTURES[family] : writePrompt(family, 'hi')
  const options = random.pick(OPTIONS[family])
  const { path, body } = writeChat({ family, version, isStream }, { ...prompt, ...options })
  const isArray = family === 'content' && isStream && random.chance(0.3)
  return {
    asked: { family, form: isArray ? 'array-stream' : isStream ? 'stream' : 'chat' },
    path: isArray ? path.replace('alt=sse', 'alt=json') : path,
    body: body as object
  }
}

const PICTURE = 'data:image/png;base64,UNIQUE'
const PICTURES: Record<Family, object> = {
  completions: { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PICTURE } }] }] },
  responses: { input: [{ role: 'user', content: [{ type: 'input_image', image_url: PICTURE }] }] },
  messages: {
    messages: [
      {
        role: 'user',
        content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'UNIQUE' } }]
      }
    ]
  },
  content: { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'UNIQUE' } }] }] }
}

const names = ['f', 'g', 'get_weather', 'current_time', 'order_status', 'look', 'ping', 'stored']
const parameters = { type: 'object', properties: { a: { type: 'string' } } }
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
const searched = { type: 'web_search' }
/** Members that change how a response is read and written. */
const OPTIONS: Record<Family, readonly object[]> = {
  completions: [
    {},
    { tools: [...names.map(name => ({ type: 'function', function: { name, parameters } })), searched] },
    { functions: names.map(name => ({ name, parameters })), stream_options: { include_usage: true } },
    { stop: ['a', 'l'], reasoning_effort: 'low', parallel_tool_calls: false },
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } }, storage: {} }
  ],
  responses: [
    {},
    { tools: [...names.map(name => ({ type: 'function', name, parameters })), searched, { type: 'image_generation' }] },
    { store: true, reasoning: { effort: 'low', summary: 'auto' }, include: ['reasoning.encrypted_content'] },
    { text: { format: { type: 'json_schema', name: 'x', schema } }, max_tool_calls: 1, parallel_tool_calls: false }
  ],
  messages: [
    {},
    {
      tools: [
        ...names.map(name => ({ name, input_schema: parameters })),
        { type: 'web_search_20250305', name: 'web_search' }
      ]
    },
    { stop_sequences: ['a', 'l'], thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 },
    { output_config: { format: { type: 'json_schema', schema } } }
  ],
  content: [
    {},
    { tools: [{ functionDeclarations: names.map(name => ({ name })) }, { googleSearch: {} }] },
    { generationConfig: { stopSequences: ['a', 'l'], thinkingConfig: { includeThoughts: true } } },
    { generationConfig: { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['a', 'b'] } } }
  ]
}
