// One request of each client family to the gateway, whole and streamed, and what shows that it was answered.

import { StepFailure } from './step-failure.ts'

interface Exchange {
  name: string
  path: string
  body: object
  /** What the text of the response must contain. */
  expected: RegExp
}

const PROMPT = 'Say hello.'
const REQUEST_TIMEOUT_MS = 20_000

function listExchanges(model: string): Exchange[] {
  const messages = [{ role: 'user', content: PROMPT }]
  const contents = [{ role: 'user', parts: [{ text: PROMPT }] }]
  const content = `/v1beta/models/${model}`
  return [
    {
      name: 'chat completions',
      path: '/v1/chat/completions',
      body: { model, messages },
      expected: /"finish_reason":"stop"/
    },
    {
      name: 'chat completions, streamed',
      path: '/v1/chat/completions',
      body: { model, messages, stream: true },
      expected: /data: \[DONE\]\n\n$/
    },
    {
      name: 'responses',
      path: '/v1/responses',
      body: { model, input: PROMPT },
      expected: /"status":"completed"/
    },
    {
      name: 'responses, streamed',
      path: '/v1/responses',
      body: { model, input: PROMPT, stream: true },
      expected: /event: response\.completed\n/
    },
    {
      name: 'messages',
      path: '/v1/messages',
      body: { model, max_tokens: 64, messages },
      expected: /"stop_reason":"(end_turn|max_tokens)"/
    },
    {
      name: 'messages, streamed',
      path: '/v1/messages',
      body: { model, max_tokens: 64, messages, stream: true },
      expected: /event: message_stop\n/
    },
    {
      name: 'content',
      path: `${content}:generateContent`,
      body: { contents },
      expected: /"finishReason":"STOP"/
    },
    {
      name: 'content, streamed',
      path: `${content}:streamGenerateContent?alt=sse`,
      body: { contents },
      expected: /"finishReason":"STOP"/
    }
  ]
}

/** Sends every request in turn; returns how many there were. Throws StepFailure for the first that is not answered in full. */
export async function sendTraffic(url: string, model: string): Promise<number> {
  const exchanges = listExchanges(model)
  for (const { name, path, body, expected } of exchanges) {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    })
    const text = await response.text()
    if (response.status !== 200) throw new StepFailure(`${name}: status ${response.status}`)
    if (!expected.test(text)) throw new StepFailure(`${name}: the response has no proper end`)
    if (!text.includes(`"${model}"`)) throw new StepFailure(`${name}: the response does not name the model ${model}`)
  }
  return exchanges.length
}
