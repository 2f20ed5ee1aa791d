// Records of a started gateway in a real node of OpenSearch with its security plugin, TLS and a user who has the rights that the guide names
// (decisions.md 115).
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { get, post } from '../../support/client.ts'
import { emulatorVariables, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import {
  countDocuments,
  type Loose,
  readDocuments,
  type SearchNode,
  startSearchNode,
  whyWithoutSearchNode
} from '../../support/search-node.ts'

/** The sink tries again after 30 s at the latest. */
const PATIENCE_MS = 120_000

const title = 'under load, while a real node of OpenSearch is killed and started again, no record is lost or changed'
t.test(title, { skip: whyWithoutSearchNode(), timeout: 450_000 }, async t => {
  const node = await startSearchNode(t, ['gateway-traffic'])
  const gateway = await startRecordingGateway(t, node)
  const sent: string[] = []
  let isLoaded = true
  const load = Array.from({ length: 3 }, async () => {
    while (isLoaded) sent.push(await chat(gateway, 'canary'))
  })
  await waitUntil(() => sent.length > 50, 'the load runs')
  await node.kill()
  const atKill = sent.length
  await waitUntil(() => sent.length > atKill + 50, 'requests are served without the node')
  await node.start()
  isLoaded = false
  await Promise.all(load)
  await get(`${gateway.url}/no/such/path`)
  await post(`${gateway.url}/v1/chat/completions`, { model: 'GigaChat-2-Max', messages: 'wrong' })
  const lines = () =>
    readFileSync(join(gateway.folder, 'records.jsonl'), 'utf8')
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as Loose)
  await waitUntil(() => lines().length >= sent.length + 2, 'every request has its line')
  const isWhole = async () => (await countDocuments(node, 'gateway-traffic')) >= lines().length
  await waitUntil(isWhole, 'every record is stored', PATIENCE_MS)
  const documents = new Map((await readDocuments(node, 'gateway-traffic')).map(({ _source }) => [_source.id, _source]))
  t.equal(await countDocuments(node, 'gateway-traffic'), lines().length, 'none twice')
  const different = lines().filter(line => {
    const { '@timestamp': time, model, has_error, ...members } = documents.get(line.id) ?? {}
    const isAdded = time === line.created_at && model === (line.model_effective ?? line.model_requested ?? null)
    const isError = line.error_type !== undefined || line.status_code >= 400
    return !isAdded || has_error !== isError || !isDeepEqual(members, line)
  })
  t.same(different.slice(0, 1), [], 'every field of a document is that of the line')
  await waitUntil(() => readdirSync(join(gateway.folder, 'spill')).length === 0, 'the spill is empty')

  t.equal((await node.ask('POST', '/gateway-traffic/_rollover')).body.rolled_over, true)
  await chat(gateway, 'young')
  const [{ id }] = lines() as [Loose]
  const admin = { 'x-admin-api-key': ADMIN_KEY }
  const { status, json } = await post(`${gateway.url}/_admin/logs/${id}/redact`, {}, admin)
  t.equal(status, 200)
  t.match(json.result, { mirrors: { opensearch: 'redacted' } })
  const [redacted] = await readDocuments(node, 'gateway-traffic', id)
  t.notOk(JSON.stringify(redacted).includes('canary'))
  t.match(redacted?._source.metadata, { manual_redaction: { redacted_at: String } })
})

const ADMIN_KEY = 'admin-key-of-the-tests'

async function startRecordingGateway(t: Test, node: SearchNode): Promise<StartedGateway> {
  const emulator = await startEmulator(t)
  return startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      NODE_EXTRA_CA_CERTS: node.certificateFile,
      GATEWAY_STARTUP_TIMEOUT_SECONDS: '55',
      GATEWAY_ADMIN_API_ENABLED: 'true',
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
      GATEWAY_TRAFFIC_LOG_SINKS: 'jsonl,sqlite,opensearch',
      GATEWAY_TRAFFIC_LOG_JSONL_PATH: 'records.jsonl',
      GATEWAY_TRAFFIC_LOG_SPILL_DIR: 'spill',
      GATEWAY_TRAFFIC_LOG_CAPTURE_CONTENT: 'true',
      GATEWAY_TRAFFIC_LOG_EXCLUDE_ROUTES: '/_admin/logs/{id}/redact',
      GATEWAY_SEARCH_INDEX_URL: node.url,
      GATEWAY_OPENSEARCH_USERNAME: node.username,
      GATEWAY_OPENSEARCH_PASSWORD: node.password
    }
  })
}

async function chat({ url }: StartedGateway, content: string): Promise<string> {
  const body = { model: 'GigaChat-2-Max', messages: [{ role: 'user', content }] }
  const { status, headers, text } = await post(`${url}/v1/chat/completions`, body)
  if (status !== 200) throw new Error(`The chat failed: ${text}`)
  return headers.get('x-request-id') ?? 'none'
}

/** Numbers of the node's JSON and of the line's are compared as values. */
function isDeepEqual(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
  const names = Object.keys(one)
  const read = (value: object, name: string) => (value as Loose)[name]
  return (
    names.length === Object.keys(other).length &&
    names.every(name => Object.hasOwn(other, name) && isDeepEqual(read(one, name), read(other, name)))
  )
}
