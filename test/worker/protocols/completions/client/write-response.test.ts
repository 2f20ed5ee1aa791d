import t from 'tap'
import type { EventAssembler, FinishReason } from '../../../../../worker/normalized/index.ts'
import {
  mapFinishReason,
  writeMetadata,
  writeUsage
} from '../../../../../worker/protocols/completions/client/write-response.ts'
import { eventsOf, requestId, writeResponse } from './support.ts'

const message = (build: (assembler: EventAssembler) => void, body = {}) =>
  writeResponse(eventsOf(build), body).choices[0].message

t.test('a response has every member that the family requires, and one choice', async t => {
  const response = writeResponse(
    eventsOf(assembler => {
      assembler.text('Hello')
      const usage = {
        inputTokens: 17,
        cacheReadTokens: 2,
        cacheWriteTokens: null,
        outputTokens: 3,
        reasoningTokens: null,
        totalTokens: 20
      }
      assembler.finish({ reason: 'stop', providerReason: 'stop', metadata: { upstream_x_request_id: 'x' } }, usage)
    })
  )
  t.strictSame(response, {
    id: `chatcmpl-${requestId}`,
    object: 'chat.completion',
    created: 1_795_187_162,
    model: 'GigaChat-2',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello', refusal: null },
        logprobs: null,
        finish_reason: 'stop'
      }
    ],
    usage: {
      prompt_tokens: 17,
      completion_tokens: 3,
      total_tokens: 20,
      prompt_tokens_details: { cached_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 0 }
    },
    system_fingerprint: `fp_${requestId}`,
    metadata: { upstream_x_request_id: 'x' }
  })
})

t.test('an empty response has an empty content, and a response with only a call or a refusal has null', async t => {
  t.equal(message(() => undefined).content, '')
  t.equal(message(assembler => assembler.toolCall({ id: 'a', name: 'f' }, '{}')).content, null)
  t.strictSame(
    message(assembler => assembler.refusal('no')),
    { role: 'assistant', content: null, refusal: 'no' }
  )
  const both = message(assembler => {
    assembler.text('let me ')
    assembler.toolCall({ id: 'a', name: 'f' }, '{}')
    assembler.text('see')
  })
  t.equal(both.content, 'let me see')
})

t.test('calls keep their order and ids, also with equal names (B1, B2)', async t => {
  const { tool_calls: calls } = message(assembler => {
    assembler.toolCall({ id: 'a', name: 'f' }, '{"x": 1}')
    assembler.toolCall({ id: 'b', name: 'f', namespace: 'n' }, '{"x": 2}')
    assembler.toolCall({ id: 'c', name: 'f' }, '')
  })
  t.strictSame(calls, [
    { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x": 1}' } },
    { id: 'b', type: 'function', function: { name: 'n__f', arguments: '{"x": 2}' } },
    { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  ])
})

t.test('a request with legacy functions gets one legacy call', async t => {
  const events = eventsOf(assembler => {
    assembler.toolCall({ id: 'a', name: 'f' }, '{"x":1}')
    assembler.toolCall({ id: 'b', name: 'f' }, '{"x":2}')
  })
  const [choice] = writeResponse(events, { functions: [{ name: 'f' }] }).choices
  t.strictSame(choice.message, {
    role: 'assistant',
    content: null,
    refusal: null,
    function_call: { name: 'f', arguments: '{"x":1}' }
  })
  t.equal(choice.finish_reason, 'function_call')
})

t.test("the finish reason depends on the provider's reason and on the calls (A6)", async t => {
  const cases: Array<[FinishReason, number, string, string]> = [
    ['stop', 0, 'stop', 'stop'],
    ['stop', 1, 'tool_calls', 'function_call'],
    ['tool-calls', 2, 'tool_calls', 'function_call'],
    ['tool-calls', 0, 'stop', 'stop'],
    ['length', 0, 'length', 'length'],
    ['length', 1, 'length', 'length'],
    ['content-filter', 0, 'content_filter', 'content_filter'],
    ['cancelled', 0, 'stop', 'stop']
  ]
  for (const [reason, callCount, current, legacy] of cases) {
    t.equal(mapFinishReason(reason, { callCount, usesLegacyFunctions: false }), current)
    t.equal(mapFinishReason(reason, { callCount, usesLegacyFunctions: true }), legacy)
  }
})

t.test('reasoning blocks are joined to one text, separate from the content', async t => {
  const { content, reasoning_content: reasoning } = message(assembler => {
    assembler.reasoning('first')
    assembler.text('a')
    assembler.reasoning('second')
    assembler.text('b')
  })
  t.equal(content, 'ab')
  t.equal(reasoning, 'first\nsecond')
})

t.test('the positions of citations refer to the whole content', async t => {
  const { annotations } = message(assembler => {
    assembler.text('one ')
    assembler.reasoning('hm')
    assembler.text('two')
    assembler.citation({ type: 'url-citation', startIndex: 0, endIndex: 3, url: 'https://example.test/', title: 'T' })
  })
  t.strictSame(annotations, [
    { type: 'url_citation', url_citation: { start_index: 4, end_index: 7, url: 'https://example.test/', title: 'T' } }
  ])
})

t.test(
  'hosted tool runs and files are written in members next to the content, and a line names a file that is no image',
  async t => {
    const written = message(assembler => {
      const run = assembler.startHostedTool({ kind: 'web_search', name: 'web_search' })
      assembler.hostedToolProgress(run, { status: 'in-progress', secondsLeft: 3, isCensored: false })
      assembler.endHostedTool(run, { status: 'completed', inlineData: { sources: { 1: { url: 'u' } } } })
      assembler.startHostedTool({ kind: 'image_generate', name: 'image_generate' })
      assembler.file({ fileId: 'f1', mediaType: 'image/jpeg', target: 'image', base64: 'AAEC' })
      assembler.file({ fileId: 'f2' })
      assembler.text('Done.')
    })
    t.strictSame(written, {
      role: 'assistant',
      content: 'Done.\n\nFile: f2',
      refusal: null,
      tool_executions: [
        { name: 'web_search', status: 'completed', censored: false },
        { name: 'image_generate', status: 'completed' }
      ],
      files: [{ id: 'f1', mime: 'image/jpeg', target: 'image', content: 'AAEC' }, { id: 'f2' }],
      inline_data: { sources: { 1: { url: 'u' } } }
    })
  }
)

t.test('tokens written to a cache are shown where the provider reports them', async t => {
  const usage = {
    inputTokens: 9,
    cacheReadTokens: 4,
    cacheWriteTokens: 3,
    outputTokens: 1,
    reasoningTokens: null,
    totalTokens: 10
  }
  t.strictSame(writeUsage(usage)?.prompt_tokens_details, { cached_tokens: 4, cache_write_tokens: 3 })
})

t.test('completions 61: token details are numbers even when the provider reports none (D3)', async t => {
  const unknown = {
    inputTokens: null,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    outputTokens: null,
    reasoningTokens: null,
    totalTokens: null
  }
  t.equal(writeUsage(null), undefined)
  t.match(writeUsage(unknown), { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })
  t.strictSame(
    writeUsage({
      ...unknown,
      inputTokens: 10,
      cacheReadTokens: 4,
      cacheWriteTokens: null,
      outputTokens: 5,
      reasoningTokens: 2
    }),
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 }
    }
  )
})

t.test('metadata values that are too long are omitted, and so is empty metadata', async t => {
  t.strictSame(writeMetadata({ a: 'x'.repeat(512), b: 'y'.repeat(513) }), { a: 'x'.repeat(512) })
  t.equal(writeMetadata({ b: 'y'.repeat(513) }), undefined)
  t.notOk('metadata' in writeResponse(eventsOf(() => undefined)))
})
