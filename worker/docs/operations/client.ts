// The operations of the client protocols: their entries in the table of operations, and what only
// this document says of them.
import type { Operation } from '../../operations/operation.ts'
import { readOperationPath, writeTemplate } from '../../operations/path.ts'
import type { OperationId } from '../../operations/table.ts'
import { ATTACHMENT_IDS_HEADER } from '../../protocols/responses/client/attachment-ids.ts'
import { CATALOG_STATUSES, UPSTREAM_STATUSES } from '../error-responses.ts'
import { LIMIT_HEADERS } from '../limit-headers.ts'
import {
  DOCUMENT_METHODS,
  modelInPath,
  type OperationDetails,
  type Parameter,
  type ResponseContent,
  type RouteDocument,
  type SuccessResponse
} from '../operation.ts'
import { writeChatBody, writeEmbeddingsBody } from '../requests/completions.ts'
import { writeBatchEmbedBody, writeContentCountBody, writeEmbedBody, writeGenerateBody } from '../requests/content.ts'
import { writeMessagesBody, writeMessagesCountBody } from '../requests/messages.ts'
import { writeResponsesBody, writeResponsesCompactBody, writeResponsesCountBody } from '../requests/responses.ts'
import { modelDetails } from './models.ts'
import { reference } from './references.ts'
import { storedDetails } from './stored.ts'

export interface ExampleModels {
  chat: string
  embeddings: string
}

const json = (name: string): ResponseContent => ({ 'application/json': reference(name) })
const EVENT_STREAM = 'text/event-stream'

/** A response that is whole, or a stream when the body asks for one. */
function wholeOrStream(whole: string, event: string): SuccessResponse {
  return {
    description:
      'The whole response, or server-sent events when `stream` is true: the schema is that of the data of one event.',
    content: { ...json(whole), [EVENT_STREAM]: reference(event) }
  }
}

/**
 * Describes the operations of a table, in its order. One that the product does not have is
 * described by its entry alone.
 */
export function writeClientDocuments(
  operations: readonly Operation[],
  models: ExampleModels,
  facts: { hasRelay: boolean }
): RouteDocument[] {
  const details: Readonly<Partial<Record<string, OperationDetails>>> = writeDetails(models, facts)
  return operations.map(operation => {
    const { id, method, tag, summary, description, family, isModelRequest } = operation
    const { statuses, ...described } = details[id] ?? describeEntry(operation)
    return {
      id,
      method: DOCUMENT_METHODS[method],
      path: writeTemplate(readOperationPath(operation)),
      tag,
      summary,
      ...(description === undefined ? {} : { description }),
      ...described,
      ...(isModelRequest && { responses: addLimitHeaders(described.responses, LIMIT_HEADERS[family]) }),
      errors: { form: family, statuses: statuses ?? (isModelRequest ? UPSTREAM_STATUSES : CATALOG_STATUSES) }
    }
  })
}

function addLimitHeaders(
  responses: OperationDetails['responses'],
  names: readonly string[] = []
): OperationDetails['responses'] {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      { ...response, headers: [...(response.headers ?? []), ...names] }
    ])
  )
}

/** What the entry alone says: the parameters of its path, and JSON in both directions. */
function describeEntry(operation: Operation): OperationDetails {
  const { id, method } = operation
  const { segments, rest } = readOperationPath(operation)
  const names = rest === undefined ? segments : [...segments, rest]
  const name = `${id.charAt(0).toUpperCase()}${id.slice(1)}Request`
  return {
    parameters: names.map(parameter => ({
      name: parameter,
      in: 'path',
      required: true,
      description: 'A part of the path.',
      schema: { type: 'string', minLength: 1 }
    })),
    ...(method === 'POST' ? { body: { name, schema: { type: 'object' } } } : {}),
    responses: { 200: { description: 'The response.', content: { 'application/json': {} } } }
  }
}

/**
 * @param models names for the examples.
 * @param hasRelay whether a provider's response may be passed on as it came.
 */
function writeDetails(
  models: ExampleModels,
  { hasRelay }: { hasRelay: boolean }
): Record<OperationId, OperationDetails> {
  const estimate = ['X-Gateway-Token-Count']
  const exactness: Parameter = {
    name: 'X-Gateway-Unsupported',
    in: 'header',
    description:
      '`refuse`: a field that would have no effect is refused by its name, instead of being left out with a notice.',
    schema: { const: 'refuse' }
  }
  const chat = wholeOrStream('ChatCompletion', 'ChatCompletionChunkOrError')
  const relayed = {
    'application/json': { anyOf: [reference('ChatCompletion'), reference('RelayedChatCompletion')] },
    'text/event-stream': {
      anyOf: [reference('ChatCompletionChunkOrError'), reference('RelayedChatCompletionChunk')]
    }
  }
  const chatCompletion: OperationDetails = {
    parameters: [exactness],
    body: { name: 'ChatCompletionRequest', schema: writeChatBody(models.chat) },
    responses: {
      200: hasRelay ? { ...chat, content: { ...chat.content, ...relayed } } : chat
    }
  }
  const embedding: OperationDetails = {
    body: { name: 'EmbeddingRequest', schema: writeEmbeddingsBody(models.embeddings) },
    responses: { 200: { description: 'One vector for each text.', content: json('EmbeddingList') } }
  }
  return {
    createChatCompletion: chatCompletion,
    createDeploymentChatCompletion: { ...chatCompletion, parameters: [modelInPath, exactness] },
    createResponse: {
      parameters: [
        exactness,
        {
          name: ATTACHMENT_IDS_HEADER,
          in: 'header',
          description: 'Ids of files that were uploaded before, separated by commas.',
          schema: { type: 'string' }
        }
      ],
      body: { name: 'ResponseRequest', schema: writeResponsesBody(models.chat) },
      responses: { 200: wholeOrStream('Response', 'ResponseStreamEvent') }
    },
    countResponseInputTokens: {
      body: { name: 'ResponseTokenCountRequest', schema: writeResponsesCountBody(models.chat) },
      responses: { 200: { description: 'The count.', content: json('ResponseTokenCount'), headers: estimate } }
    },
    compactResponse: {
      parameters: [exactness],
      body: { name: 'ResponseCompactionRequest', schema: writeResponsesCompactBody(models.chat) },
      responses: { 200: { description: 'The sealed summary.', content: json('ResponseCompaction') } }
    },
    createEmbedding: embedding,
    createDeploymentEmbedding: { ...embedding, parameters: [modelInPath] },
    generateContent: {
      parameters: [modelInPath, exactness],
      body: { name: 'GenerateContentRequest', schema: writeGenerateBody() },
      responses: { 200: { description: 'The response.', content: json('GenerateContentResponse') } }
    },
    streamGenerateContent: {
      parameters: [
        modelInPath,
        exactness,
        {
          name: 'alt',
          in: 'query',
          description: '`json` streams a JSON array; anything else server-sent events.',
          schema: { enum: ['sse', 'json'] }
        }
      ],
      body: { name: 'GenerateContentRequest', schema: writeGenerateBody() },
      responses: {
        200: {
          description:
            'Server-sent events, of which each holds one chunk, or an array of chunks. A failed stream ends with the error as ' +
            'its last chunk.',
          content: {
            [EVENT_STREAM]: reference('ContentChunkOrError'),
            'application/json; charset=UTF-8': { type: 'array', items: reference('ContentChunkOrError') }
          }
        }
      }
    },
    countTokens: {
      parameters: [modelInPath],
      body: { name: 'CountTokensRequest', schema: writeContentCountBody(), isOptional: true },
      responses: {
        200: { description: 'The count.', content: json('CountTokensResponse'), headers: estimate }
      }
    },
    embedContent: {
      parameters: [modelInPath],
      body: { name: 'EmbedContentRequest', schema: writeEmbedBody() },
      responses: { 200: { description: 'The vector.', content: json('EmbedContentResponse') } }
    },
    batchEmbedContents: {
      parameters: [modelInPath],
      body: { name: 'BatchEmbedContentsRequest', schema: writeBatchEmbedBody() },
      responses: { 200: { description: 'One vector for each content.', content: json('BatchEmbedContentsResponse') } }
    },
    createMessage: {
      parameters: [exactness],
      body: { name: 'MessageRequest', schema: writeMessagesBody(models.chat) },
      responses: { 200: wholeOrStream('Message', 'MessageStreamEvent') }
    },
    countMessageTokens: {
      body: { name: 'MessageTokenCountRequest', schema: writeMessagesCountBody(models.chat) },
      responses: { 200: { description: 'The count.', content: json('MessageTokenCount'), headers: estimate } }
    },
    ...storedDetails,
    ...modelDetails
  }
}
