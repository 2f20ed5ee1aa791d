import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { computeInventoryRevision } from '../../shared/catalog/catalog.ts'
import { canonicalJson, compareCodePoints, type JsonValue } from '../../shared/json.ts'
import type { ProfileSet, ProviderProfile } from '../../shared/profile/profile.ts'
import { computeConfigRevision, computeProfileRevision } from '../../shared/profile/profile-revision.ts'
import {
  computeMatrixRevision,
  findCell,
  findRow,
  matrixRevision,
  supportMatrix
} from '../../shared/support/support-matrix.ts'
import * as fc from '../support/properties.ts'
import { referenceMatrix } from './fixtures/reference-matrix.ts'

const nativeMain: ProviderProfile = {
  profileId: 'native-main',
  providerKind: 'native',
  baseUrl: 'https://api.upstream.example/v1',
  credentialEnv: 'UPSTREAM_CREDENTIALS',
  networkPolicyRef: 'public-native',
  tlsPolicyRef: 'system-default',
  allowLoopback: false,
  modelInventory: 'dynamic',
  models: []
}

const edgeChat: ProviderProfile = {
  profileId: 'edge-chat',
  providerKind: 'chat_compatible',
  baseUrl: 'http://127.0.0.1:9800/v1',
  networkPolicyRef: 'loopback-development',
  tlsPolicyRef: 'system-default',
  allowLoopback: true,
  models: [
    {
      publicAlias: 'edge/mini',
      upstreamModel: 'mini-7b',
      capabilityProfile: 'edge-mini-v1',
      capabilities: { features: ['text', 'roles'], limits: { contextWindow: 4096 } },
      supportStatus: 'technical_preview',
      enabled: true,
      deprecated: false
    }
  ]
}

t.test('the published profiles have the published revisions', async t => {
  t.equal(computeProfileRevision(nativeMain), 'sha256:3086047ce49fbbb2c693a603486cd3ab9e0a086bb0ab4f7d15c7a47333526372')
  t.equal(
    computeConfigRevision({ schemaVersion: 'gateway.provider-profiles.v2', profiles: [nativeMain] }),
    'sha256:5246d6e844d6d4c26d11c97a1e8d5af7e119af5a948c1eb6fdde7f1bca932911'
  )
  t.equal(computeProfileRevision(edgeChat), 'sha256:b9b537101465ccd50f4eb017164856b014f68f05e403f7dc836e3c693147d5db')
  t.equal(
    computeConfigRevision({ schemaVersion: 'gateway.provider-profiles.v3', profiles: [edgeChat] }),
    'sha256:dfe00e48f6354a99b306442b7cba339447ecc22d03f66ade047ede7cb60d3298'
  )
})

t.test('the configuration revision depends on the order of the profiles', async t => {
  const set = (profiles: ProviderProfile[]): ProfileSet => ({
    schemaVersion: 'gateway.provider-profiles.v3',
    origin: 'file',
    profiles
  })
  t.not(computeConfigRevision(set([nativeMain, edgeChat])), computeConfigRevision(set([edgeChat, nativeMain])))
})

t.test('the published inventory has the published revision in any upstream order', async t => {
  const entry = (id: string, modelType: string) => ({
    id,
    modelType,
    ownedBy: 'vendor',
    available: true,
    deprecated: false,
    providerMetadata: { object: 'model' }
  })
  const expected = 'sha256:9d754780367feb71b14f784626359e250c679c05d244fce33ab3bfe688f2af32'
  const entries = [entry('GigaChat-2-Max', 'chat'), entry('Embeddings', 'embedder')]
  t.equal(computeInventoryRevision(entries, 'native-upstream'), expected)
  t.equal(computeInventoryRevision(entries.reverse(), 'native-upstream'), expected)
})

t.test('bridge 58: the matrix algorithm gives the published vector', async t => {
  t.equal(
    computeMatrixRevision(referenceMatrix),
    'sha256:c747dcceb51909ee3c8397c8ca09ce2c02b0ccdd39062a30506cd1c7394c276c'
  )
  t.equal(
    computeMatrixRevision([...referenceMatrix].reverse()),
    'sha256:c747dcceb51909ee3c8397c8ca09ce2c02b0ccdd39062a30506cd1c7394c276c'
  )
})

t.test('the matrix of this build has 16 cells of 21 rows, and a blocked cell supports no semantic', async t => {
  t.equal(supportMatrix.length, 16)
  for (const cell of supportMatrix) {
    t.equal(cell.semantics.length, 21)
    t.equal(new Set(cell.semantics.map(row => row.semantic)).size, 21)
    if (cell.status !== 'blocked') continue
    t.ok(cell.semantics.every(row => row.disposition === 'unsupported' && row.reasonId === 'route_not_integrated'))
  }
  t.match(matrixRevision, /^sha256:[0-9a-f]{64}$/)
})

t.test('a cell that is not blocked names the tested SDK version and existing test suites', async t => {
  const root = join(import.meta.dirname, '../..')
  const sdks = {
    anthropic_messages: [
      'anthropic-node',
      '@anthropic-ai/sdk',
      'end-to-end/anthropic-sdk.test.ts',
      'conformance/messages.json'
    ],
    gemini_generate_content: [
      'google-genai-node',
      '@google/genai',
      'end-to-end/google-genai-sdk.test.ts',
      'conformance/content.json'
    ],
    openai_chat_completions: ['openai-node', 'openai', 'end-to-end/openai-sdk.test.ts', 'conformance/completions.json'],
    openai_responses: ['openai-node', 'openai', 'end-to-end/openai-responses.test.ts', 'conformance/responses.json']
  }
  for (const cell of supportMatrix) {
    if (cell.status === 'blocked') continue
    const [window, packageName, ...nativeSuites] = sdks[cell.publicProtocol]
    const bridgeSuites = ['end-to-end/bridge/official-sdks.long.test.ts', 'conformance/bridge.json']
    const suites = cell.upstreamProvider === 'native' ? nativeSuites : bridgeSuites
    const { version } = JSON.parse(
      readFileSync(join(root, 'node_modules', String(packageName), 'package.json'), 'utf8')
    )
    t.equal(cell.clientVersionWindow, `${window}==${version}`)
    for (const suite of suites) t.ok(existsSync(join(root, 'test', suite)), suite)
  }
})

t.test('canonical JSON sorts keys by code point and omits nulls only without keepNulls', async t => {
  const value = { '\u{1f600}': 1, '\ufb01': 2, b: null, a: ['é', { d: 1, c: null }] }
  t.equal(canonicalJson(value, { keepNulls: true }), '{"a":["é",{"c":null,"d":1}],"b":null,"\ufb01":2,"\u{1f600}":1}')
  t.equal(canonicalJson(value, { keepNulls: false }), '{"a":["é",{"d":1}],"\ufb01":2,"\u{1f600}":1}')
})

t.test('canonical JSON is the same text for any key order, and its parsed value equals the original', async t => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: fc.anyCharacter }), fc.jsonValue()), dictionary => {
      const value = JSON.parse(JSON.stringify(dictionary)) as Record<string, JsonValue>
      const reversed = Object.fromEntries(Object.entries(value).reverse())
      const text = canonicalJson(value, { keepNulls: true })
      t.equal(canonicalJson(reversed, { keepNulls: true }), text)
      t.same(JSON.parse(text), value)
    })
  )
})

t.test('the code point order is total', async t => {
  fc.assert(
    fc.property(fc.string({ unit: fc.anyCharacter }), fc.string({ unit: fc.anyCharacter }), (left, right) => {
      t.equal(Math.sign(compareCodePoints(left, right)), -Math.sign(compareCodePoints(right, left)) + 0)
      t.equal(compareCodePoints(left, right) === 0, left === right)
    })
  )
})

t.test('a cell is found by its route, and a kind that is not in the matrix has none', async t => {
  for (const cell of supportMatrix) t.equal(findCell(cell.publicProtocol, cell.upstreamProvider), cell)
  t.equal(findCell('openai_responses', 'toy'), undefined)
})

t.test('a cell is stable when all its rows hold, and what a route loses keeps it a preview', async t => {
  const lost = supportMatrix.map(({ publicProtocol, upstreamProvider, status, semantics }) => {
    const rows = semantics.filter(({ reasonId }) => reasonId === 'semantic_not_proven')
    t.equal(status, rows.length === 0 ? 'stable' : 'technical_preview', `${publicProtocol} ${upstreamProvider}`)
    return [publicProtocol, upstreamProvider, ...rows.map(({ semantic }) => semantic)]
  })
  // Hosted tools belong to one wire, and only a Responses wire and the native upstream keep conversations.
  const hosted = 'hosted_and_provider_native_tools'
  t.same(
    lost.filter(row => row.length > 2),
    [
      ['anthropic_messages', 'content_compatible', hosted],
      ['gemini_generate_content', 'messages_compatible', hosted],
      ['openai_chat_completions', 'content_compatible', hosted],
      ['openai_chat_completions', 'messages_compatible', hosted],
      ['openai_responses', 'content_compatible', hosted, 'previous_response_state'],
      ['openai_responses', 'messages_compatible', hosted, 'previous_response_state']
    ]
  )
})

t.test('a reasoning effort has a row that holds in every cell', async t => {
  for (const cell of supportMatrix) {
    t.not(findRow(cell, 'reasoning_controls_and_summaries').disposition, 'unsupported')
    const state = findRow(cell, 'previous_response_state')
    t.equal(state.reasonId === 'not_in_public_protocol', cell.publicProtocol !== 'openai_responses')
  }
})
