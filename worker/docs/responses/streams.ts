// What stands in the events of a stream besides the chunks: the error of a failed stream. And the responses that a provider of the same
// protocol wrote itself.
import { z } from 'zod'
import type { CompletionsChunk } from '../../protocols/completions/client/schema.ts'
import type { ContentResponse } from '../../protocols/content/client/schema.ts'
import type { ErrorEnvelope } from '../../protocols/shared/completions-family/error-envelope.ts'
import { describe } from '../schema.ts'
import { chatCompletionChunk } from './completions.ts'
import { generateContentResponse } from './content.ts'
import { completionsError, contentError } from './errors.ts'

describe<CompletionsChunk | ErrorEnvelope>()(
  'ChatCompletionChunkOrError',
  z.union([chatCompletionChunk, completionsError]),
  'The data of one event. The last event has the data `[DONE]` in place of JSON; a failed stream ends with its error instead.'
)

describe<ContentResponse | z.output<typeof contentError>>()(
  'ContentChunkOrError',
  z.union([generateContentResponse, contentError])
)

type Relayed = { model: string; choices: unknown[] }

const relayed = z.object({ model: z.string(), choices: z.array(z.unknown()) }).meta({ additionalProperties: true })

describe<Relayed>()(
  'RelayedChatCompletion',
  relayed,
  'The response of a provider that speaks the same protocol, with any further members of its own.'
)

describe<Relayed>()(
  'RelayedChatCompletionChunk',
  relayed,
  'The data of one event of a provider that speaks the same protocol, with any further members of its own.'
)
