import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ChatCompletionCreateParamsBase } from 'openai/resources/chat/completions'
import type { EmbeddingCreateParams } from 'openai/resources/embeddings'
import t from 'tap'
import { chatParameters, embeddingsParameters } from '../../../../../worker/protocols/completions/client/schema.ts'
import type { Parameter } from '../../../../../worker/protocols/shared/parameters.ts'

// The compiler holds the same promise as the test below: a new SDK whose parameters we do not know does not type-check.
chatParameters satisfies Record<keyof ChatCompletionCreateParamsBase, Parameter>
embeddingsParameters satisfies Record<keyof EmbeddingCreateParams, Parameter>

const sdkFolder = dirname(createRequire(import.meta.url).resolve('openai'))

/** The members of an interface in the type declarations that the SDK ships. */
function readMembers(file: string, name: string): string[] {
  const text = readFileSync(join(sdkFolder, 'resources', file), 'utf8')
  const start = text.indexOf(`export interface ${name} `)
  const declaration = text.slice(start, text.indexOf('\n}', start))
  return [...declaration.matchAll(/^ {4}(\w+)\??:/gm)].map(match => match[1] ?? '')
}

t.test('every parameter of the official SDK has a class (E1)', async t => {
  const chat = [
    ...readMembers('chat/completions/completions.d.ts', 'ChatCompletionCreateParamsBase'),
    ...readMembers('chat/completions/completions.d.ts', 'ChatCompletionCreateParamsStreaming')
  ]
  const embeddings = readMembers('embeddings.d.ts', 'EmbeddingCreateParams')
  t.ok(chat.length > 35 && embeddings.length === 5, 'the declarations were found and read')
  t.strictSame(
    chat.filter(name => !Object.hasOwn(chatParameters, name)),
    []
  )
  t.strictSame(
    embeddings.filter(name => !Object.hasOwn(embeddingsParameters, name)),
    []
  )
})

t.test('no parameter is both typed and an additional field of another class', async t => {
  const additional = Object.entries<Parameter>(chatParameters).filter(([, parameter]) => parameter.isAdditionalField)
  t.strictSame(
    additional.map(([name]) => name),
    ['flags', 'function_ranker', 'profanity_check', 'repetition_penalty', 'storage', 'update_interval']
  )
  t.ok(additional.every(([, parameter]) => parameter.class === 'supported'))
})
