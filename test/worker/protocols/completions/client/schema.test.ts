import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ChatCompletionCreateParamsBase } from 'openai/resources/chat/completions'
import type { EmbeddingCreateParams } from 'openai/resources/embeddings'
import t from 'tap'
import { embeddingsParameters } from '../../../../../worker/protocols/completions/client/schema.ts'
import { chatParameters } from '../../../../../worker/protocols/completions/members.ts'
import type { Parameter } from '../../../../../worker/protocols/shared/members/parameters.ts'

// The compiler checks the same as the first test: a new SDK version with a parameter that is not listed does not type-check.
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

t.test('a listed parameter that is also an additional field has the class supported', async t => {
  const additional = Object.entries<Parameter>(chatParameters).filter(([, parameter]) => parameter.isAdditionalField)
  t.strictSame(
    additional.map(([name]) => name),
    ['flags', 'function_ranker', 'profanity_check', 'repetition_penalty', 'storage', 'update_interval']
  )
  t.ok(additional.every(([, parameter]) => parameter.class === 'supported'))
})
