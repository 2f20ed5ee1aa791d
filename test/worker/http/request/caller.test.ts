// Every row of the table of operations.md 11.5.

import type { IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import { classifyCaller } from '../../../../worker/http/request/caller.ts'
import * as fc from '../../../support/properties.ts'

const agent = (text: string): IncomingHttpHeaders => ({ 'user-agent': text })

/** Headers, then category, name and family. */
const rows: Array<[IncomingHttpHeaders, string, string, string?]> = [
  [{ referer: 'http://gateway/docs', 'user-agent': 'Mozilla/5.0' }, 'ui', 'swagger-ui'],
  [{ referer: 'http://gateway/api/docs/?a=b#c', 'user-agent': 'OpenAI/Python 1.0' }, 'ui', 'swagger-ui', 'openai'],
  [{ referer: 'https://gateway/redoc//' }, 'ui', 'redoc-ui'],
  [{ referer: 'https://gateway/mydocs' }, 'unknown', 'unknown'],
  [{ referer: 'no url /docs' }, 'unknown', 'unknown'],
  [agent('claude-code/1.0 (external)'), 'agent', 'claude-code', 'anthropic'],
  [agent('Claude Code'), 'agent', 'claude-code', 'anthropic'],
  [agent('claude-cli/1.0.83 (external, cli)'), 'agent', 'claude-code', 'anthropic'],
  [agent('qwen-code/0.1'), 'agent', 'qwen-code'],
  [agent('qwen_code openai'), 'agent', 'qwen-code'],
  [agent('Qwen Code'), 'agent', 'qwen-code'],
  [agent('QwenCode/0.0.14 (linux; x64)'), 'agent', 'qwen-code'],
  [{ ...agent('qwen-code/0.1'), 'openai-beta': 'x' }, 'agent', 'qwen-code', 'openai'],
  [agent('codex_cli_rs/0.4'), 'agent', 'codex', 'openai'],
  [{ ...agent('codex'), 'anthropic-version': 'x' }, 'agent', 'codex', 'openai'],
  [agent('OpenAI/Python 1.0'), 'sdk', 'openai-python', 'openai'],
  [agent('AsyncOpenAI/Python 1.99.1'), 'sdk', 'openai-python', 'openai'],
  [agent('x openai-python'), 'sdk', 'openai-python', 'openai'],
  [agent('OpenAI/Node 4'), 'sdk', 'openai-node', 'openai'],
  [agent('openai-js 4'), 'sdk', 'openai-node', 'openai'],
  [agent('OpenAI/JS 4.1'), 'sdk', 'openai-node', 'openai'],
  [agent('Anthropic/Python 0.30'), 'sdk', 'anthropic-python', 'anthropic'],
  [agent('Anthropic/TypeScript 1'), 'sdk', 'anthropic-node', 'anthropic'],
  [agent('Anthropic/JS 0.60'), 'sdk', 'anthropic-node', 'anthropic'],
  [agent('OpenAI/Go 1.0'), 'sdk', 'openai-sdk', 'openai'],
  [agent('Anthropic/Go 1.0'), 'sdk', 'anthropic-sdk', 'anthropic'],
  [{ ...agent('Anthropic/Go 1.0'), 'openai-organization': 'o' }, 'sdk', 'anthropic-sdk', 'openai'],
  [agent('GeminiCLI/0.1.0/gemini-2.5-pro (linux; x64)'), 'agent', 'gemini-cli', 'gemini'],
  [agent('aider/0.80'), 'agent', 'aider'],
  [agent('Mozilla/5.0 (X11) Cursor/0.45 Electron/30'), 'agent', 'cursor'],
  [agent('OpenHands/0.9'), 'agent', 'openhands'],
  [agent('litellm/1.70.0'), 'sdk', 'litellm'],
  [agent('precursor/1'), 'http_client', 'precursor'],
  [agent('google-genai-sdk/1.30.0 gl-python/3.12.1'), 'sdk', 'google-genai-python', 'gemini'],
  [agent('google-genai-sdk/1.30.0 gl-node/v24.1.0'), 'sdk', 'google-genai-node', 'gemini'],
  [agent('google-genai-sdk/1.5.0 gl-go/go1.24'), 'sdk', 'google-genai-go', 'gemini'],
  [agent('google-genai-sdk/1.5.0 gl-web'), 'sdk', 'google-genai-sdk', 'gemini'],
  [
    { ...agent('node'), 'x-goog-api-client': 'google-genai-sdk/1.30 gl-node/v24' },
    'sdk',
    'google-genai-node',
    'gemini'
  ],
  [{ ...agent('curl/8'), 'openai-organization': 'o' }, 'sdk', 'openai-compatible', 'openai'],
  [{ 'anthropic-version': '2023-06-01' }, 'sdk', 'anthropic-compatible', 'anthropic'],
  [{ 'openai-beta': 'a', 'anthropic-version': 'b' }, 'sdk', 'anthropic-compatible', 'anthropic'],
  [agent('Mozilla/5.0 (X11; Linux) Firefox/130'), 'browser', 'browser'],
  [agent('x chrome/1'), 'browser', 'browser'],
  [agent('x Safari/1'), 'browser', 'browser'],
  [agent('curl/8'), 'http_client', 'curl'],
  [agent('  My  Client/2.0 more '), 'http_client', 'my'],
  [agent('-Ünï(code)-/1'), 'http_client', 'n-code'],
  [agent('(((/1'), 'http_client', 'http-client'],
  [agent('my-anthropic-thing'), 'http_client', 'my-anthropic-thing', 'anthropic'],
  [{}, 'unknown', 'unknown'],
  [agent('   '), 'unknown', 'unknown']
]

for (const [headers, category, name, family] of rows) {
  t.test(`a caller is classified: ${JSON.stringify(headers)}`, async t => {
    const { user_agent: userAgent, ...caller } = classifyCaller(headers)
    t.same(caller, {
      name,
      category,
      ...(family !== undefined && { client_family: family }),
      ...((category === 'sdk' || category === 'agent') && { [category]: name }),
      ...(category === 'ui' && { ui: name.replace('-ui', '') })
    })
    t.equal(userAgent, headers['user-agent']?.trim().replace(/\s+/g, ' ') || undefined)
  })
}

t.test('texts of headers are collapsed and cut', async t => {
  const headers = { 'user-agent': ` a\t  b ${'c'.repeat(300)}`, 'x-agent-id': ' agent \t 7 ' }
  const caller = classifyCaller(headers)
  t.equal(caller.user_agent?.length, 256)
  t.match(caller, { user_agent: /^a b c+$/, agent_id: 'agent 7' })
})

t.test('more user agents than the cache holds are all classified', async t => {
  for (let index = 0; index < 600; index += 1) {
    t.equal(classifyCaller(agent(`client-${index}/1`)).name, `client-${index}`)
  }
  t.equal(classifyCaller(agent('OpenAI/Python 1.0')).name, 'openai-python')
})

t.test('any headers have a bounded classification without nulls', async () => {
  const words = ['user-agent', 'referer', 'x-agent-id', 'x-goog-api-client', 'openai-x', 'anthropic-x', 'constructor']
  const value = fc.oneof(
    fc.string({ unit: fc.anyCharacter, maxLength: 400 }),
    fc.webUrl(),
    fc.constantFrom('openai/', 'codex', '/docs', 'http://a/docs')
  )
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...words), value), headers => {
      const caller = classifyCaller(headers as IncomingHttpHeaders)
      return (
        /^[a-z0-9_.-]{1,512}$/.test(caller.name) &&
        Object.values(caller).every(text => typeof text === 'string' && text !== '' && text.length <= 512)
      )
    })
  )
})
