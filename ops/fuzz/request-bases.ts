// The valid requests that mutations start from: one with nearly every member for each operation, and those of real agents.

import { pathUnder, readRecordedRequests } from '../../test/end-to-end/agents/recorded.ts'
import type { Family } from '../../test/end-to-end/system/support.ts'
import { wholeBodies } from '../../test/end-to-end/system/whole-bodies.ts'
import * as completions from '../../worker/protocols/completions/client/schema.ts'
import * as content from '../../worker/protocols/content/client/schema.ts'
import * as messages from '../../worker/protocols/messages/client/schema.ts'
import { clientFaces } from '../../worker/protocols/registry.ts'
import { collectDonors, copyTree, type Donors, type Tree } from './json-tree.ts'

export interface RequestBase {
  name: string
  family: Family
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  /** Undefined for GET. */
  body: Tree
}

/** The valid requests, and the members that any of them or any parameter table knows. */
export function readRequestBases(): { bases: RequestBase[]; donors: Donors } {
  const recorded = readRecordedRequests().flatMap(request =>
    (['v1', 'v2'] as const).map(
      (version): RequestBase => ({
        name: `${request.name} ${version}`,
        family: request.family,
        method: request.method === 'GET' ? 'GET' : 'POST',
        path: pathUnder(request, version),
        headers: request.headers,
        body: withoutAddresses(request.body)
      })
    )
  )
  const bases = [...listWhole(), ...recorded, ...listModels()]
  const others = [completions, content, messages].flatMap(module =>
    Object.values<unknown>(module).filter(value => typeof value === 'object' && value !== null)
  )
  // The last name of a path such as `reasoning.summary`.
  const members = Object.values(clientFaces).flatMap(face =>
    Object.keys(face.members.rows).map(path => path.slice(path.lastIndexOf('.') + 1))
  )
  return {
    bases,
    donors: collectDonors(
      bases.map(({ body }) => body),
      [...others.flatMap(table => Object.keys(table as object)), ...members]
    )
  }
}

function listWhole(): RequestBase[] {
  const other = { 'v1/': 'v2/', 'v1beta/': 'v2/', 'v2/': 'v1/' }
  return wholeBodies.flatMap(([family, path, body]) => {
    const base = { family, method: 'POST' as const, headers: {} }
    const second = path.replace(/v1beta\/|v1\/|v2\//, version => other[version as keyof typeof other])
    const streamed = family !== 'content' && 'stream' in body ? { ...body, stream: !body.stream } : body
    const single = path.includes(':batchEmbedContents')
      ? [{ ...base, name: path, path: path.replace('batchEmbed', 'embed').replace('Contents', 'Content') }]
      : []
    return [
      { ...base, name: path, path, body: copyTree(body) },
      { ...base, name: second, path: second, body: copyTree(streamed) },
      ...single.map(one => ({ ...one, body: { content: { parts: [{ text: 'a' }] } } }))
    ]
  })
}

const MODEL_PATHS: ReadonlyArray<readonly [Family, string, Record<string, string>]> = [
  ['completions', '/v1/models', {}],
  ['completions', '/v2/models/GigaChat-2', {}],
  ['completions', '/v1/models/a%2Fb%00?limit=-1', {}],
  ['messages', '/v1/models?limit=1&after_id=x', { 'anthropic-version': '2023-06-01' }],
  ['messages', '/v1/models/nope', { 'anthropic-version': '2023-06-01' }],
  ['content', '/v1beta/models?pageSize=1e9&pageToken=%ff', {}],
  ['content', '/v1beta/models/models%2FGigaChat-2', {}],
  ['content', '/v1beta/tunedModels', {}]
]

function listModels(): RequestBase[] {
  return MODEL_PATHS.map(([family, path, headers]) => ({
    name: `GET ${path}`,
    family,
    method: 'GET',
    path,
    headers,
    body: undefined
  }))
}

/** The same document with addresses that the gateway refuses without looking them up, so that a run stays on this machine. */
function withoutAddresses(body: Tree): Tree {
  if (body === undefined) return undefined
  return JSON.parse(JSON.stringify(body).replaceAll(/https?:\/\/[^/"\\\s]+/g, 'https://[::1]'))
}
