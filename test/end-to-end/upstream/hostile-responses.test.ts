// For every upstream response the client gets a response, or a provider failure in its family's form; a stream always has
// one clear end.

import t from 'tap'
import { get } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import * as fc from '../../support/properties.ts'
import { oddVersionsOf } from '../system/odd-documents.ts'
import { askIn, families, readEnd, readError } from '../system/support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), UPSTREAM_TIMEOUT: '10', GATEWAY_STREAM_IDLE_TIMEOUT_SECONDS: '10' }
})

const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, precached_prompt_tokens: 0 }
const call = { name: 'f', arguments: { a: 1 } }
const wholeV1 = {
  choices: [
    {
      message: {
        role: 'assistant',
        content: 'x<think>y</think>',
        reasoning_content: 'r',
        function_call: call,
        functions_state_id: 's'
      },
      index: 0,
      finish_reason: 'function_call'
    }
  ],
  created: 1,
  model: 'm:1',
  object: 'chat.completion',
  usage,
  thread_id: 't'
}
const framesV1 = {
  frames: [
    { choices: [{ delta: { role: 'assistant', content: 'a', reasoning_content: 'r' }, index: 0 }] },
    { choices: [{ delta: { content: 'b', function_call: call, functions_state_id: 's' }, index: 0 }] },
    { choices: [{ delta: { content: '' }, index: 0, finish_reason: 'function_call' }], usage }
  ]
}
const messagesV2 = [
  { role: 'reasoning', content: [{ text: 'r' }] },
  {
    role: 'assistant',
    tool_state_id: 's',
    message_id: 'i',
    content: [
      {
        text: 'a [sources=[1]]',
        inline_data: { images: [], sources: { '1': { url: 'https://e.test/a', title: 'A' } } }
      },
      { tool_execution: { name: 'web_search', status: 'success', seconds_left: 1, censored: false } },
      { files: [{ id: 'f', mime: 'application/x', target: '3dmodel' }] },
      { function_call: call }
    ]
  }
]
const usageV2 = { input_tokens: 1, input_tokens_details: { cached_tokens: 1 }, output_tokens: 2, total_tokens: 3 }
const wholeV2 = {
  model: 'm:1',
  created_at: 1,
  messages: messagesV2,
  finish_reason: 'stop',
  usage: usageV2,
  thread_id: 't',
  message_id: 'm'
}
const framesV2 = {
  frames: [
    { messages: [{ role: 'assistant', content: [{ text: 'a' }] }] },
    { messages: [{ role: 'assistant', content: [{ tool_execution: { name: 'web_search' } }] }] },
    { messages: messagesV2 },
    { finish_reason: 'stop', usage: usageV2, messages: [{ role: 'assistant', tool_state_id: 's' }] }
  ]
}

const tools = {
  completions: { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }] },
  responses: { tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }] },
  messages: { tools: [{ name: 'f', input_schema: { type: 'object' } }] },
  content: { tools: [{ functionDeclarations: [{ name: 'f' }] }] }
}

function writeFrames(document: object): string[] {
  const { frames } = document as { frames?: unknown }
  const list = Array.isArray(frames) ? frames : [frames]
  // An odd list may have holes, which `map` would leave.
  return Array.from(list, frame => `data: ${JSON.stringify(frame) ?? ''}\n\n`)
}

for (const family of families) {
  t.test(`${family}: no response of the upstream causes an internal error`, async t => {
    for (const [prefix, whole, frames] of [
      [family === 'content' ? '/v1beta' : '/v1', wholeV1, framesV1],
      ['/v2', wholeV2, framesV2]
    ] as const) {
      const ask = (stream: boolean) =>
        askIn(gateway, family, 'hi', { prefix, stream, query: stream ? '?alt=sse' : '', more: tools[family] })
      const isProvidersFailure = (status: number) => status === 502 || status === 500
      await fc.assert(
        fc.asyncProperty(oddVersionsOf(whole), async body => {
          emulator.respondNext({ body })
          const response = await ask(false)
          if (response.status === 200) return
          const { message } = readError(family, response)
          if (!isProvidersFailure(response.status) || message === 'Internal server error')
            throw new Error(response.text)
        }),
        { numRuns: 40 }
      )
      await fc.assert(
        fc.asyncProperty(oddVersionsOf(frames), fc.boolean(), async (document, hasEndMark) => {
          const chunks = writeFrames(document)
          emulator.respondNext({ chunks: hasEndMark ? [...chunks, 'data: [DONE]\n\n'] : chunks })
          const response = await ask(true)
          if (response.status === 200) {
            readEnd(family, response.text)
            return
          }
          const { message } = readError(family, response)
          if (!isProvidersFailure(response.status) || message === 'Internal server error')
            throw new Error(response.text)
        }),
        { numRuns: 40 }
      )
    }
    t.equal((await get(`${gateway.url}/health`)).status, 200)
  })
}
