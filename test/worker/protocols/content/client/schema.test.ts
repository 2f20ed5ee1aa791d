import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { FinishReason } from '@google/genai'
import t from 'tap'
import {
  batchEmbedContentsParameters,
  countTokensParameters,
  embedContentParameters,
  finishReasons
} from '../../../../../worker/protocols/content/client/schema.ts'
import { contentParameters, generationParameters } from '../../../../../worker/protocols/content/members.ts'

const declarations = readFileSync(
  join(dirname(createRequire(import.meta.url).resolve('@google/genai')), 'node.d.ts'),
  'utf8'
)

/** The members of an interface in the type declarations that the SDK ships. */
function readMembers(name: string): string[] {
  const start = declarations.indexOf(`export declare interface ${name} {`)
  const declaration = declarations.slice(start, declarations.indexOf('\n}', start))
  return [...declaration.matchAll(/^ {4}(\w+)\??:/gm)].map(match => match[1] ?? '')
}

/** Options that the SDK does not send. */
const CLIENT_OPTIONS = new Set(['httpOptions', 'abortSignal', 'automaticFunctionCalling', 'automaticContinuation'])

t.test('every parameter of the official SDK has a class (E1)', async t => {
  const generate = readMembers('GenerateContentConfig').filter(name => !CLIENT_OPTIONS.has(name))
  t.ok(generate.length > 30, 'the declarations were found and read')
  // The SDK writes some of its options beside `generationConfig` and the others into it.
  const known = { ...contentParameters, ...generationParameters }
  t.strictSame(
    generate.filter(name => !Object.hasOwn(known, name)),
    []
  )
  const count = readMembers('CountTokensConfig').filter(name => !CLIENT_OPTIONS.has(name))
  t.strictSame(
    count.filter(name => name !== 'generationConfig' && !Object.hasOwn(countTokensParameters, name)),
    []
  )
  const embed = readMembers('EmbedContentConfig').filter(name => !CLIENT_OPTIONS.has(name))
  const elsewhere = new Set(['mimeType', 'documentOcr', 'audioTrackExtraction'])
  t.strictSame(
    embed.filter(name => !elsewhere.has(name) && !Object.hasOwn(embedContentParameters, name)),
    []
  )
  t.ok(count.length > 2 && embed.length > 3)
})

t.test('every finish reason is defined by the SDK, and none makes it repeat the request', async t => {
  const words = new Set<string>(Object.values(FinishReason))
  t.strictSame(
    finishReasons.filter(word => !words.has(word)),
    []
  )
  t.notOk((finishReasons as readonly string[]).includes('CONTINUATION'))
  t.notOk((finishReasons as readonly string[]).includes('FINISH_REASON_UNSPECIFIED'))
})

t.test('no parameter is sent to the provider under its own name', async t => {
  const tables = [
    contentParameters,
    generationParameters,
    countTokensParameters,
    embedContentParameters,
    batchEmbedContentsParameters
  ]
  for (const table of tables) {
    t.ok(Object.values(table).every(parameter => !('isAdditionalField' in parameter)))
  }
})
