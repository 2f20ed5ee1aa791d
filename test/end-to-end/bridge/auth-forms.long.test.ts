// Every form of `auth` on every wire, from a profile file to a provider that demands it: whole and streamed, from a client of the wire and
// of another one, and no secret in anything that the gateway writes (providers.md 4, cases 6 and 12).

import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { findWrongSignature } from '../../support/aws-verifier.ts'
import { get } from '../../support/client.ts'
import { readLog, startEmulator } from '../../support/in-process-gateway.ts'
import { startOtlpReceiver } from '../../support/otlp/receiver.ts'
import { waitUntil } from '../../support/processes.ts'
import { startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { createTrafficFiles, trafficVariables } from '../../support/recorded-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { startTokenServer, type TokenServer } from '../../support/token-server.ts'
import { tracingVariables } from '../tracing/support.ts'
import { ask, families, send } from './families.ts'
import { providers } from './providers/index.ts'
import type { Provider } from './providers/row.ts'

const KEY = 'sk-c4nary/+=&'
const ACCOUNT = { id: 'app-c4nary', secret: 's3cret-c4nary~/+' }
const AWS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalr/c4nary+', sessionToken: 'FwoG-c4nary' }
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const EMAIL = 'gateway@project.iam.gserviceaccount.com'

const SCOPE = 'api://models/.default'
const clientTokens = await startTokenServer(t, { account: ACCOUNT, clientAuth: 'post', form: { scope: SCOPE } })
const accountTokens = await startTokenServer(t, {
  email: EMAIL,
  keyId: 'key-1',
  publicKey,
  scope: 'https://www.googleapis.com/auth/cloud-platform',
  nowMs: Date.now
})
const keyFile = join(createTemporaryFolder(t), 'key.json')
const account = { type: 'service_account', client_email: EMAIL, private_key: PEM, private_key_id: 'key-1' }
writeFileSync(keyFile, JSON.stringify({ ...account, token_uri: accountTokens.tokenUrl }))

/** What a provider sees of a call. */
interface Seen {
  method: string
  target: string
  headers: IncomingMessage['headers']
  rawHeaders: readonly string[]
  body: Uint8Array
}

interface Form {
  auth: object
  credentialEnv?: string
  accepts(seen: Seen): boolean
  /** The headers that carry it. */
  headers: readonly string[]
}

const hasToken = (tokens: TokenServer) => (seen: Seen) => tokens.accepts(seen.headers.authorization)
const forms: Record<string, Form> = {
  header: {
    auth: { header: 'api-key' },
    credentialEnv: 'AUTH_KEY',
    accepts: ({ headers }) => headers['api-key'] === KEY,
    headers: ['api-key']
  },
  prefix: {
    auth: { header: 'Authorization', prefix: 'Token ' },
    credentialEnv: 'AUTH_KEY',
    accepts: ({ headers }) => headers.authorization === `Token ${KEY}`,
    headers: ['authorization']
  },
  query: {
    auth: { query: 'subscription-key' },
    credentialEnv: 'AUTH_KEY',
    accepts: ({ target }) => new URL(target, 'http://x').searchParams.getAll('subscription-key').join('|') === KEY,
    headers: []
  },
  oauth2: {
    auth: {
      oauth2: {
        token_url: clientTokens.tokenUrl,
        client_id_env: 'AUTH_APP_ID',
        client_secret_env: 'AUTH_APP_SECRET',
        client_auth: 'post',
        scope: SCOPE
      }
    },
    accepts: hasToken(clientTokens),
    headers: ['authorization']
  },
  google: {
    auth: { google_service_account: { file: keyFile } },
    accepts: hasToken(accountTokens),
    headers: ['authorization']
  },
  aws: {
    auth: { aws_sigv4: { region: 'eu-west-1', service: 'bedrock' } },
    accepts: seen =>
      findWrongSignature(seen, { account: AWS, region: 'eu-west-1', service: 'bedrock', nowMs: Date.now }) ===
      undefined,
    headers: ['authorization', 'x-amz-date', 'x-amz-content-sha256', 'x-amz-security-token']
  }
}
const variables = {
  AUTH_KEY: KEY,
  AUTH_APP_ID: ACCOUNT.id,
  AUTH_APP_SECRET: ACCOUNT.secret,
  AWS_ACCESS_KEY_ID: AWS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: AWS.secretAccessKey,
  AWS_SESSION_TOKEN: AWS.sessionToken
}
const CREDENTIAL_HEADERS = ['api-key', 'authorization', 'x-api-key', 'x-goog-api-key']

const emulator = await startEmulator(t)
const front = await startFront(t)

/**
 * Stands before the embedded upstream as `/<wire>-<form>`: it passes a call with the right credential on without it, and refuses every
 * other one.
 */
async function startFront(t: Test): Promise<{ url: string; calls: string[] }> {
  const calls: string[] = []
  const server = createServer((incoming, outgoing) => {
    const pieces: Buffer[] = []
    incoming.on('data', piece => pieces.push(piece))
    incoming.on('end', () => answer(incoming, outgoing, Buffer.concat(pieces)))
  })
  function answer(incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer): void {
    const { method = '', url: target = '', headers, rawHeaders } = incoming
    const [, id = '', ...rest] = target.split('/')
    const [wire, form = ''] = id.split('-')
    const provider = providers.find(({ name }) => name === wire)
    const { accepts, headers: own } = forms[form] ?? neverAccepted
    calls.push(id)
    const others = CREDENTIAL_HEADERS.filter(name => name in headers && !own.includes(name))
    if (provider === undefined || others.length > 0 || !accepts({ method, target, headers, rawHeaders, body })) {
      outgoing.writeHead(401, { 'content-type': 'application/json' })
      outgoing.end(JSON.stringify({ error: { message: `refused ${target} ${rawHeaders.join(' ')}`, type: 'auth' } }))
      return
    }
    const url = new URL(
      readVertexPath(rest.join('/')),
      `${new URL(provider.baseUrl(emulator, 'keyed', 'open')).href.replace(/\/v1$/, '')}/`
    )
    url.searchParams.delete('subscription-key')
    const passed = Object.entries(headers).filter(([name]) => !['connection', 'host', ...own].includes(name))
    const onward = request(url, { method, headers: Object.fromEntries(passed) }, response => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    onward.end(body)
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls }
}

/** Vertex AI has both wires below a project and a location, and takes the tokens of service accounts. */
const PROJECT = 'v1/projects/p-1/locations/europe-west4'
const VERTEX_BASES: Readonly<Record<string, string>> = {
  'content-google': `/${PROJECT}/publishers/google`,
  'chat-google': `/${PROJECT}/endpoints/openapi`
}

/** The path of the embedded upstream for one of Vertex AI; every other path is its own. */
function readVertexPath(path: string): string {
  return path
    .replace(`${PROJECT}/publishers/google/models/`, 'v1beta/models/')
    .replace(`${PROJECT}/endpoints/openapi/`, 'v1/')
}

const neverAccepted: Form = { auth: {}, accepts: () => false, headers: [] }

/** A profile of a wire, with its one alias of the same name. */
function writeProfile(
  { name, kind, more, models }: Pick<Provider, 'name' | 'kind' | 'more' | 'models'>,
  form: string,
  { auth, credentialEnv }: Pick<Form, 'auth' | 'credentialEnv'>
): object {
  const id = `${name}-${form}`
  return writeChatProfile({
    id,
    kind,
    baseUrl: `${front.url}/${id}${VERTEX_BASES[id] ?? (name === 'chat' || name === 'responses' ? '/v1' : '')}`,
    ...(credentialEnv === undefined ? {} : { credentialEnv }),
    aliases: [{ alias: id, model: models.keyless }],
    more: { ...more, auth }
  })
}

const files = createTrafficFiles(t)
const collector = await startOtlpReceiver(t, 'http')
const gateway = await startProfileGateway(t, {
  profiles: providers.flatMap(provider =>
    Object.entries(forms).map(([name, form]) => writeProfile(provider, name, form))
  ),
  env: {
    ...variables,
    ...trafficVariables(files),
    ...tracingVariables(collector.url, 'http'),
    GATEWAY_LOG_LEVEL: 'debug',
    GATEWAY_METRICS_ENABLED: 'true'
  }
})

/** A client of the provider's own wire, whose bytes pass, and one of another. */
function chooseFamilies({ passes }: Provider): typeof families {
  const own = families.filter(({ name }) => name === passes)
  return [...own, ...families.filter(({ name }) => name !== passes).slice(0, 1)]
}

let askedCount = 0

for (const provider of providers) {
  for (const form of Object.keys(forms)) {
    t.test(`providers 6: ${provider.name}, the form ${form} authorizes every call, whole and streamed`, async t => {
      const model = `${provider.name}-${form}`
      for (const family of chooseFamilies(provider)) {
        for (const isStream of [false, true]) {
          askedCount += 1
          const outcome = await ask(gateway.url, family, { model, prompt: '[[text:Hello]]', isStream })
          t.equal(outcome.text, 'Hello', `${family.name} ${isStream}`)
        }
      }
      t.equal(front.calls.filter(id => id === model).length, 4, 'one attempt each')
    })
  }
}

t.test('providers 12: each profile fetched one token, and a revoked one is replaced without a failure', async t => {
  for (const [form, tokens] of [
    ['oauth2', clientTokens],
    ['google', accountTokens]
  ] as const) {
    t.equal(tokens.issued.length, providers.length)
    t.same(tokens.deviations, [])
    tokens.revokeAll()
    for (const provider of providers) {
      const model = `${provider.name}-${form}`
      for (const family of chooseFamilies(provider)) {
        askedCount += 1
        const outcome = await ask(gateway.url, family, { model, prompt: '[[text:Hello]]' })
        t.equal(outcome.text, 'Hello', `${model} ${family.name}`)
      }
    }
    t.equal(tokens.issued.length, 2 * providers.length)
  }
})

t.test('no log line, record, span, metric or document has a secret', async t => {
  const paths = ['/metrics', '/ready', '/bridge/models', '/v1/models', '/bridge/matrix']
  const documents = await Promise.all(paths.map(async path => (await get(gateway.url + path)).text))
  await waitUntil(() => readFileSync(files.jsonl, 'utf8').split('\n').length > askedCount, 'records are written')
  await collector.until(({ spans }) => spans.length >= askedCount)
  const written = {
    log: readFileSync(join(gateway.folder, 'gateway.log'), 'utf8'),
    records: readFileSync(files.jsonl, 'utf8'),
    spans: inspect(collector.spans, { depth: 10, maxArrayLength: null, maxStringLength: null }),
    documents: documents.join()
  }
  for (const [name, text] of Object.entries(written)) {
    t.ok(text.length > 500, name)
    t.notMatch(text, /c4nary|tok3n-canary|eyJ[\w-]+\.|subscription-key=/, name)
    t.notOk(text.includes(PEM.split('\n')[3] ?? PEM), name)
  }
  t.match(documents[0], /gateway_upstream_token_refresh_total\S* 16\n/)
  t.match(documents[0], /gateway_upstream_token_refresh_failures_total\S* 0\n/)
})

t.test('providers 12: a token server that refuses is the gateway’s own failure in every family', async t => {
  const refusing = await startTokenServer(t, { account: { ...ACCOUNT, secret: 'another' }, clientAuth: 'basic' })
  const auth = {
    oauth2: { token_url: refusing.tokenUrl, client_id_env: 'AUTH_APP_ID', client_secret_env: 'AUTH_APP_SECRET' }
  }
  const { url, folder } = await startProfileGateway(t, {
    profiles: providers.map(provider => writeProfile(provider, 'refused', { auth })),
    env: variables
  })
  for (const { name } of providers) {
    for (const family of families) {
      for (const isStream of [false, true]) {
        const response = await send(url, family, { model: `${name}-refused`, prompt: 'hi', isStream })
        t.equal(response.status, 502, `${name} ${family.name}`)
        t.match(family.readFailure(response).message, 'The gateway could not get a credential for the upstream.')
        t.notMatch(response.text, /invalid_client|c4nary|w0rds-of/)
      }
    }
  }
  t.ok(refusing.stub.requests.length < 2 * providers.length, 'not a request for each call')
  const linesOf = (event: string) => readLog({ folder }).filter(line => line.event === event)
  // Equal lines of one second are counted together.
  const namesAll = () => new Set(linesOf('upstream_call_failed').map(line => line.profile_id)).size === providers.length
  await waitUntil(namesAll, 'the log has a line of each profile')
  const lines = readLog({ folder })
  const refused = lines.filter(({ event }) => event === 'upstream_token_failed')
  t.match(refused[0], { status: 401, oauth_error: 'invalid_client', profile_id: 'chat-refused' })
  const failed = lines.filter(({ event }) => event === 'upstream_call_failed')
  for (const line of failed) t.match(line, { reason_id: 'credential_refresh_failed', error_type: 'credential_error' })
  t.notMatch(JSON.stringify(lines), /c4nary|w0rds-of/)
})

t.test('providers 12: two workers fetch one token each', async t => {
  const tokens = await startTokenServer(t, { account: ACCOUNT, clientAuth: 'basic' })
  const upstream = await startEmulator(t)
  const { url } = await startProfileGateway(t, {
    profiles: [
      writeChatProfile({
        id: 'chat-two',
        baseUrl: upstream.chatBaseUrl,
        aliases: [{ alias: 'two' }],
        more: {
          auth: {
            oauth2: { token_url: tokens.tokenUrl, client_id_env: 'AUTH_APP_ID', client_secret_env: 'AUTH_APP_SECRET' }
          }
        }
      })
    ],
    env: { ...variables, GATEWAY_WORKERS: '2' }
  })
  const [completions] = families
  if (completions === undefined) throw new Error('There is a family.')
  for (let count = 0; count < 20; count += 1) {
    // Each connection goes to the next worker.
    const headers = { connection: 'close' }
    const outcome = await ask(url, completions, {
      model: 'two',
      prompt: '[[text:Hello]]',
      isStream: count % 2 === 0,
      headers
    })
    t.equal(outcome.text, 'Hello')
  }
  t.equal(tokens.issued.length, 2)
  t.same(tokens.deviations, [])
})
