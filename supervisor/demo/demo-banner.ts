// The text that `--demo` prints when the gateway listens: its address, and requests to copy.
import { type Address, writeAddress } from '../listening/address.ts'

export interface DemoFacts {
  readonly address: Address
  readonly isTls: boolean
  readonly isAuthRequired: boolean
  readonly model: string
  readonly controlUrl: string | undefined
  readonly logFile: string
  /** Present where the admin API is on, with the key of this run unless the operator has set one. */
  readonly dashboard: { readonly adminKey: string | undefined } | undefined
}

/** The text to print, with its final newline. It names the variable of a key that was set, never the key. */
export function writeDemoBanner(facts: DemoFacts): string {
  const baseUrl = writeBaseUrl(facts.address, facts.isTls)
  const lines = [
    '',
    `  The gateway listens on  ${baseUrl}`,
    '  Its upstream is embedded: no account, no network, scripted answers.',
    ...(facts.controlUrl === undefined ? [] : [`  Upstream control        ${facts.controlUrl}`]),
    // A demo never runs in PROD, so the documentation is served.
    `  Documentation           ${baseUrl}/docs`,
    `  Log file                ${facts.logFile}`,
    ...describeDashboard(facts, baseUrl),
    '',
    ...listExamples(facts).flatMap(({ title, path, body }) => [
      `  ${title}:`,
      '',
      ...writeCurl(facts, baseUrl + path, body),
      ''
    ]),
    '  Stop with Ctrl-C.',
    ''
  ]
  return `${lines.join('\n')}\n`
}

function describeDashboard({ dashboard }: DemoFacts, baseUrl: string): string[] {
  if (dashboard === undefined) return []
  const key = dashboard.adminKey === undefined ? 'the value of GATEWAY_ADMIN_API_KEY' : dashboard.adminKey
  return ['', `  Requests as they end    ${baseUrl}/_admin/ui`, `  Admin key for the page  ${key}`]
}

interface Example {
  title: string
  path: string
  body: object
}

/** One request per client family, each with what its SDK needs as base URL. */
function listExamples({ model }: DemoFacts): Example[] {
  const messages = [{ role: 'user', content: 'Hello!' }]
  return [
    {
      title: 'Chat completions (OpenAI SDK: baseURL is the address above plus /v1)',
      path: '/v1/chat/completions',
      body: { model, messages }
    },
    {
      title: 'Responses (the same SDK; previous_response_id continues a response)',
      path: '/v1/responses',
      body: { model, input: 'Hello!' }
    },
    {
      title: 'Messages (Anthropic SDK: baseURL is the address above)',
      path: '/v1/messages',
      body: { model, max_tokens: 256, messages }
    },
    {
      title: 'Generate content (Google GenAI SDK: httpOptions.baseUrl is the address above)',
      path: `/v1beta/models/${model}:generateContent`,
      body: { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] }
    }
  ]
}

/** An address that a client on this machine can use: an unspecified one becomes loopback. */
export function writeBaseUrl(address: Address, isTls: boolean): string {
  const isUnspecified = address.host === '0.0.0.0' || address.host === '::' || address.host === ''
  const reachable = isUnspecified ? { ...address, host: '127.0.0.1' } : address
  return `${isTls ? 'https' : 'http'}://${writeAddress(reachable)}`
}

function writeCurl(facts: DemoFacts, url: string, body: object): string[] {
  return [
    `    curl ${url} \\`,
    ...(facts.isAuthRequired ? ['      -H "authorization: Bearer $GATEWAY_API_KEY" \\'] : []),
    "      -H 'content-type: application/json' \\",
    `      -d '${JSON.stringify(body)}'`
  ]
}
