// Installs the template, the policy and the data stream (operations.md 8.5). Every step may be
// repeated, and several gateways may do it at the same time.
import type { Logger } from '../../../../shared/logging.ts'
import { readObject, refuseResponse, type SearchResponse, type SearchServer, SearchServerError } from './server.ts'
import {
  policyName,
  SEARCH_SCHEMA_VERSION,
  type SearchTarget,
  templateName,
  writePolicy,
  writeTemplate
} from './template.ts'

/** Prepares the server for writes. Rejects with `SearchServerError`; without the plugin for policies it only warns. */
export async function installTarget(server: SearchServer, target: SearchTarget, log: Logger): Promise<void> {
  // A policy is applied to a data stream when its index is created. A plain index would be deleted whole, with the newest records.
  if (target.isDataStream) await installPolicy(server, target, log)
  await installTemplate(server, target)
  await prepareDataStream(server, target)
}

/** Makes the template where it is missing or older. Rejects with `SearchServerError`. */
export async function installTemplate(server: SearchServer, target: SearchTarget): Promise<void> {
  const path = `/_index_template/${encodeURIComponent(templateName(target))}`
  const found = await server.call({ method: 'GET', path })
  if (isSuccess(found) && isCurrentTemplate(found.body, target)) return
  if (!isSuccess(found) && found.status !== 404) throw refuseResponse('the question for the index template', found)
  const stored = await server.call({ method: 'PUT', path, body: writeTemplate(target) })
  if (!isSuccess(stored)) throw refuseResponse('the index template', stored)
}

/** A template of this version keeps what an operator has changed in it; one of a newer gateway stays too. */
function isCurrentTemplate(body: unknown, target: SearchTarget): boolean {
  const { index_templates: templates } = readObject(body)
  const [first] = Array.isArray(templates) ? templates : []
  const { _meta: meta, data_stream: dataStream } = readObject(readObject(first).index_template)
  const { schema_version: version } = readObject(meta)
  const hasDataStream = dataStream !== undefined && dataStream !== null
  return typeof version === 'number' && version >= SEARCH_SCHEMA_VERSION && hasDataStream === target.isDataStream
}

async function installPolicy(server: SearchServer, target: SearchTarget, log: Logger): Promise<void> {
  const path = `/_plugins/_ism/policies/${encodeURIComponent(policyName(target))}`
  const wanted = writePolicy(target)
  const found = await server.call({ method: 'GET', path })
  const { policy, _seq_no: sequence, _primary_term: term } = readObject(found.body)
  if (isSuccess(found) && readObject(policy).description === wanted.policy.description) return
  if (!isSuccess(found) && found.status !== 404) return warnOfPolicy(found, log)
  const query = isSuccess(found) ? { if_seq_no: String(sequence), if_primary_term: String(term) } : undefined
  const stored = await server.call({ method: 'PUT', path, body: wanted, ...(query && { query }) })
  // 409: another gateway has stored it in between.
  if (!isSuccess(stored) && stored.status !== 409) warnOfPolicy(stored, log)
}

function warnOfPolicy(response: SearchResponse, log: Logger): void {
  const error = refuseResponse('the policy', response)
  if (response.status === 429 || response.status >= 500) throw error
  const fields = { event: 'search_policy_not_installed', err: error }
  log.warn(
    fields,
    'The search server takes no policy for the traffic log: old records stay until they are deleted there'
  )
}

async function prepareDataStream(server: SearchServer, { index, isDataStream }: SearchTarget): Promise<void> {
  const path = `/_data_stream/${encodeURIComponent(index)}`
  const exists = async () => {
    const found = await server.call({ method: 'GET', path })
    // With an index, the server may lack data streams, or may not show them to this user.
    const isAnswer = isSuccess(found) || found.status === 404 || !isDataStream
    if (!isAnswer) throw refuseResponse('the question for the data stream', found)
    return isSuccess(found) && isListed(found.body, index)
  }
  if (await exists()) {
    if (isDataStream) return
    throw new SearchServerError(`On the search server ${index} is a data stream, and the settings say it is an index.`)
  }
  if (!isDataStream) return
  const created = await server.call({ method: 'PUT', path })
  // It fails too when another gateway has created the stream in between.
  if (!isSuccess(created) && !(await exists())) throw refuseResponse('the data stream', created)
}

/** The server answers 200 with an empty list for the name of a plain index. */
function isListed(body: unknown, name: string): boolean {
  const { data_streams: streams } = readObject(body)
  return Array.isArray(streams) && streams.some((stream: unknown) => readObject(stream).name === name)
}

function isSuccess({ status }: SearchResponse): boolean {
  return status >= 200 && status < 300
}
