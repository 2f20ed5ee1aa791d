// What `--demo` prints when the gateway listens: where it is, and requests to paste.

export interface DemoFacts {
  readonly address: { readonly host: string; readonly port: number }
  readonly isTls: boolean
  readonly isAuthRequired: boolean
  readonly model: string
  readonly controlUrl: string | undefined
  readonly logFile: string
}

/** The text to print, with its final newline. It names the variable of a key, never the key. */
export function writeDemoBanner(facts: DemoFacts): string {
  const baseUrl = writeBaseUrl(facts.address, facts.isTls)
  const lines = [
    '',
    `  The gateway listens on  ${baseUrl}`,
    '  Its upstream is embedded: no account, no network, scripted answers.',
    ...(facts.controlUrl === undefined ? [] : [`  Upstream control        ${facts.controlUrl}`]),
    `  Log file                ${facts.logFile}`,
    '',
    '  Chat completions (OpenAI SDK: baseURL is the address above plus /v1):',
    '',
    ...writeCurl(facts, `${baseUrl}/v1/chat/completions`, {
      model: facts.model,
      messages: [{ role: 'user', content: 'Hello!' }]
    }),
    '',
    '  Stop with Ctrl-C.',
    ''
  ]
  return `${lines.join('\n')}\n`
}

/** An address that a client on this machine can use: an unspecified one becomes loopback. */
export function writeBaseUrl(address: { host: string; port: number }, isTls: boolean): string {
  const isUnspecified = address.host === '0.0.0.0' || address.host === '::' || address.host === ''
  const host = isUnspecified ? '127.0.0.1' : address.host
  return `${isTls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${address.port}`
}

function writeCurl(facts: DemoFacts, url: string, body: object): string[] {
  return [
    `    curl ${url} \\`,
    ...(facts.isAuthRequired ? ['      -H "authorization: Bearer $GATEWAY_API_KEY" \\'] : []),
    "      -H 'content-type: application/json' \\",
    `      -d '${JSON.stringify(body)}'`
  ]
}
