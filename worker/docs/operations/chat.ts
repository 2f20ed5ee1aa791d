// The operations that call a model.
import { ATTACHMENT_IDS_HEADER } from '../../protocols/responses/client/attachment-ids.ts'
import { UPSTREAM_STATUSES } from '../error-responses.ts'
import { modelInPath, type Operation, type ResponseContent, type SuccessResponse } from '../operation.ts'
import { writeChatBody, writeEmbeddingsBody } from '../requests/completions.ts'
import { writeBatchEmbedBody, writeContentCountBody, writeEmbedBody, writeGenerateBody } from '../requests/content.ts'
import { writeMessagesBody, writeMessagesCountBody } from '../requests/messages.ts'
import { writeResponsesBody } from '../requests/responses.ts'
import { reference } from './references.ts'

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

/** @param models names for the examples. @param hasRelay whether a provider's response may be passed on as it came. */
export function writeModelOperations(models: ExampleModels, { hasRelay }: { hasRelay: boolean }): Operation[] {
  const completions = { form: 'completions', statuses: UPSTREAM_STATUSES } as const
  const messages = { form: 'messages', statuses: UPSTREAM_STATUSES } as const
  const content = { form: 'content', statuses: UPSTREAM_STATUSES } as const
  const generate = { method: 'post', path: '/models/{model}', family: 'content', errors: content } as const
  const estimate = ['X-Gateway-Token-Count']
  const chat = wholeOrStream('ChatCompletion', 'ChatCompletionChunkOrError')
  const relayed = { anyOf: [reference('ChatCompletion'), reference('RelayedChatCompletion')] }
  return [
    {
      id: 'createChatCompletion',
      method: 'post',
      path: '/chat/completions',
      tag: 'OpenAI / Chat Completions',
      summary: 'Create a chat completion',
      body: { name: 'ChatCompletionRequest', schema: writeChatBody(models.chat) },
      responses: {
        200: hasRelay ? { ...chat, content: { ...chat.content, 'application/json': relayed } } : chat
      },
      errors: completions
    },
    {
      id: 'createResponse',
      method: 'post',
      path: '/responses',
      tag: 'OpenAI / Responses',
      summary: 'Create a response',
      parameters: [
        {
          name: ATTACHMENT_IDS_HEADER,
          in: 'header',
          description: 'Ids of files that were uploaded before, separated by commas.',
          schema: { type: 'string' }
        }
      ],
      body: { name: 'ResponseRequest', schema: writeResponsesBody(models.chat) },
      responses: { 200: wholeOrStream('Response', 'ResponseStreamEvent') },
      errors: completions
    },
    {
      id: 'createEmbedding',
      method: 'post',
      path: '/embeddings',
      tag: 'OpenAI / Embeddings',
      summary: 'Create embeddings',
      body: { name: 'EmbeddingRequest', schema: writeEmbeddingsBody(models.embeddings) },
      responses: { 200: { description: 'One vector for each text.', content: json('EmbeddingList') } },
      errors: completions
    },
    {
      ...generate,
      id: 'generateContent',
      operation: 'generateContent',
      tag: 'Gemini / Generate Content',
      summary: 'Generate content',
      parameters: [modelInPath],
      body: { name: 'GenerateContentRequest', schema: writeGenerateBody() },
      responses: { 200: { description: 'The response.', content: json('GenerateContentResponse') } }
    },
    {
      ...generate,
      id: 'streamGenerateContent',
      operation: 'streamGenerateContent',
      tag: 'Gemini / Generate Content',
      summary: 'Generate content as a stream',
      parameters: [
        modelInPath,
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
    {
      ...generate,
      id: 'countTokens',
      operation: 'countTokens',
      tag: 'Gemini / Generate Content',
      summary: 'Count tokens',
      parameters: [modelInPath],
      body: { name: 'CountTokensRequest', schema: writeContentCountBody(), isOptional: true },
      responses: {
        200: { description: 'The count.', content: json('CountTokensResponse'), headers: estimate }
      }
    },
    {
      ...generate,
      id: 'embedContent',
      operation: 'embedContent',
      tag: 'Gemini / Embeddings',
      summary: 'Embed one content',
      parameters: [modelInPath],
      body: { name: 'EmbedContentRequest', schema: writeEmbedBody() },
      responses: { 200: { description: 'The vector.', content: json('EmbedContentResponse') } }
    },
    {
      ...generate,
      id: 'batchEmbedContents',
      operation: 'batchEmbedContents',
      tag: 'Gemini / Embeddings',
      summary: 'Embed several contents',
      parameters: [modelInPath],
      body: { name: 'BatchEmbedContentsRequest', schema: writeBatchEmbedBody() },
      responses: { 200: { description: 'One vector for each content.', content: json('BatchEmbedContentsResponse') } }
    },
    {
      id: 'createMessage',
      method: 'post',
      path: '/messages',
      tag: 'Anthropic / Messages',
      summary: 'Create a message',
      body: { name: 'MessageRequest', schema: writeMessagesBody(models.chat) },
      responses: { 200: wholeOrStream('Message', 'MessageStreamEvent') },
      errors: messages
    },
    {
      id: 'countMessageTokens',
      method: 'post',
      path: '/messages/count_tokens',
      tag: 'Anthropic / Messages',
      summary: 'Count the tokens of a message',
      body: { name: 'MessageTokenCountRequest', schema: writeMessagesCountBody(models.chat) },
      responses: { 200: { description: 'The count.', content: json('MessageTokenCount'), headers: estimate } },
      errors: messages
    }
  ]
}
