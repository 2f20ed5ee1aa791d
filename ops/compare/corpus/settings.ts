// Setups whose settings decide the outcome: keys, credentials of the client, defaults, limits, timeouts and retries.

import type { CaseRequest, CompareCase, Setup } from '../types.ts'
import { createCase, type Form, forms, nameForm, writeChat, writeParts, writePrompt } from './families.ts'
import { pictureUrl } from './values.ts'

const key = { 'x-api-key': 'k1' }
const credentials: Array<Record<string, string>> = [
  {},
  { authorization: 'Bearer k1' },
  { authorization: 'Bearer wrong' },
  { authorization: 'Basic azE6' },
  { 'x-api-key': 'k2' },
  { 'x-goog-api-key': 'k1' },
  { authorization: 'Bearer wrong', 'x-api-key': 'k1' },
  { authorization: 'Bearer upstream-auth-ready-token', ...key },
  { authorization: 'Bearer upstream-auth-unknown', ...key },
  { authorization: `Bearer upstream-cred-${Buffer.from('a:b').toString('base64')}:GIGACHAT_API_CORP`, ...key },
  { authorization: 'Bearer upstream-cred-:nowhere', ...key },
  { authorization: 'Bearer upstream-user-ada:secret', ...key },
  { authorization: 'Bearer upstream-auth-ready-token' }
]

export function createSettingSetups(): Setup[] {
  return [
    {
      name: 'access, defaults and limits',
      variables: {
        GATEWAY_ENABLE_API_KEY_AUTH: 'true',
        GATEWAY_API_KEY: 'k1',
        GATEWAY_API_KEYS: '{"second":"k2"}',
        GATEWAY_PASS_TOKEN: 'true',
        GATEWAY_PASS_MODEL: 'false',
        GATEWAY_UPSTREAM_API_MODE: 'v2',
        GATEWAY_DEFAULT_MAX_TOKENS: '77',
        GATEWAY_ENABLE_IMAGES: 'false',
        GATEWAY_MAX_REQUEST_BODY_BYTES: '4096',
        GATEWAY_MAX_TEXT_FILE_SIZE_BYTES: '10',
        UPSTREAM_MODEL: 'GigaChat-2-Pro',
        UPSTREAM_PROFANITY_CHECK: 'false',
        UPSTREAM_FLAGS: '["preprocess"]'
      },
      cases: [...createPathCases(), ...forms.flatMap(createAccessCases)]
    },
    {
      name: 'timeouts',
      variables: {
        GATEWAY_STREAM_IDLE_TIMEOUT_SECONDS: '0.2',
        GATEWAY_REQUEST_TIMEOUT_SECONDS: '0.2',
        UPSTREAM_TIMEOUT: '2'
      },
      cases: createPrompts(['[[hang:2]]'])
    },
    {
      name: 'retries',
      variables: { UPSTREAM_MAX_RETRIES: '1', UPSTREAM_RETRY_BACKOFF_FACTOR: '0' },
      cases: createPrompts(['[[flaky:1:503]]', '[[error:500]]', '[[error:400]]', '[[die:0]]'])
    }
  ]
}

function createPrompts(prompts: readonly string[]): CompareCase[] {
  return forms
    .filter(({ version }) => version === 'v2')
    .flatMap(form =>
      prompts.map(prompt =>
        createCase(`prompt ${nameForm(form)} ${prompt}`, writeChat(form, writePrompt(form.family, prompt)))
      )
    )
}

/** Paths without a version, and operations beside chat. */
function createPathCases(): CompareCase[] {
  const reads = ['/', '/health', '/ready', '/nope', '/v1/models', '/v1/models?key=k1', '/v1/models?x-api-key=k2']
  const messages = [{ role: 'user', content: 'x' }]
  const requests: CaseRequest[] = [
    ...reads.map(path => ({ path })),
    { path: '/v1/models/GigaChat-2', headers: key },
    { path: '/embeddings', headers: key, body: { input: 'x' } },
    { path: '/chat/completions', headers: key, body: { messages } },
    { path: '/messages', headers: key, body: { messages, max_tokens: 5 } },
    { path: '/responses', headers: key, body: { input: 'x' } }
  ]
  return requests.map(request => createCase(`${request.path} ${Object.keys(request.headers ?? {})}`, request))
}

function createAccessCases(form: Form): CompareCase[] {
  const { family } = form
  const ask = (name: string, body: object): CompareCase =>
    createCase(`${name} ${nameForm(form)}`, { ...writeChat(form, body), headers: key })
  const image = {
    completions: { type: 'image_url', image_url: { url: pictureUrl('refused') } },
    responses: { type: 'input_image', image_url: pictureUrl('refused') },
    messages: { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAEC' } },
    content: { inlineData: { mimeType: 'image/png', data: 'AAEC' } }
  }[family]
  const prompt = writeChat(form, writePrompt(family, 'hi'))
  return [
    ...credentials.map((headers, index) => createCase(`credential ${index} ${nameForm(form)}`, { ...prompt, headers })),
    ask('image', writeParts(family, [image])),
    ask('large body', writePrompt(family, 'x'.repeat(5000))),
    ask('no model', { ...writePrompt(family, 'hi'), model: undefined, max_tokens: undefined })
  ]
}
