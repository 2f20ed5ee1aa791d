// The model lists of all families (bridge.md 6.3), and LiteLLM-style model info.
import { publicProtocols } from '../../../shared/support/support-vocabulary.ts'
import type { OperationId } from '../../operations/table.ts'
import { modelInPath, type OperationDetails, type Parameter, type RouteDocument } from '../operation.ts'
import { reference } from './references.ts'

const query = (name: string, description: string, schema = {}): Parameter => ({
  name,
  in: 'query',
  description,
  schema: { type: 'string', ...schema }
})

const refresh = query('refresh', '`1`, `true` or `yes` asks the provider again.')

const messagesPaging = [
  query('limit', 'Messages form: models of a page, from 1 to 1000.'),
  query('after_id', 'Messages form: the id behind which the page begins.'),
  query('before_id', 'Messages form: the id before which the page ends.'),
  query('lifecycle', 'Messages form: `active` or `deprecated`.')
]

const contentPaging = [
  query('pageSize', 'Content form: models of a page, from 1 to 1000.'),
  query('pageToken', 'Content form: `nextPageToken` of the page before.')
]

export const modelDetails = {
  listModels: {
    parameters: [refresh, ...messagesPaging, ...contentPaging],
    responses: {
      200: {
        description: 'The models, in the form of the client.',
        content: {
          'application/json': {
            anyOf: [reference('CompletionsModelList'), reference('MessagesModelPage'), reference('ContentModelList')]
          }
        }
      }
    }
  },
  getModel: {
    parameters: [modelInPath, refresh],
    responses: {
      200: {
        description: 'The model, in the form of the client.',
        content: {
          'application/json': {
            anyOf: [reference('CompletionsModel'), reference('MessagesModel'), reference('ContentModel')]
          }
        }
      }
    }
  },
  listContentModels: {
    parameters: [refresh, ...contentPaging],
    responses: {
      200: { description: 'One page of the models.', content: { 'application/json': reference('ContentModelList') } }
    }
  },
  getContentModel: {
    parameters: [modelInPath, refresh],
    responses: {
      200: { description: 'The model.', content: { 'application/json': reference('ContentModel') } }
    }
  },
  listTunedModels: {
    responses: {
      200: { description: 'An empty list.', content: { 'application/json': reference('TunedModelList') } }
    },
    statuses: [400, 401]
  },
  getModelInfo: {
    parameters: [refresh, query('model', 'Only the model of this id.')],
    responses: {
      200: {
        description: 'All models, or the one of the query.',
        content: { 'application/json': { anyOf: [reference('ModelInfoList'), reference('ModelInfo')] } }
      }
    }
  }
} satisfies Partial<Record<OperationId, OperationDetails>>

const oneOf = (name: string, description: string, words: readonly string[]): Parameter =>
  query(name, description, { enum: words })

export const bridgeOperations: readonly RouteDocument[] = [
  {
    id: 'listBridgeModels',
    method: 'get',
    path: '/bridge/models',
    tag: 'System / Health',
    summary: 'Models of all routes',
    description:
      'A machine document for supervisors that plan routes. It holds no secrets. Only with a keys file it needs a key, and shows the models of that key; the admin key shows all.',
    responses: {
      200: { description: 'The models.', content: { 'application/json': reference('BridgeModels') } }
    },
    errors: { form: 'machine', statuses: [503] }
  },
  {
    id: 'getBridgeCapabilities',
    method: 'get',
    path: '/bridge/capabilities',
    tag: 'System / Health',
    summary: 'Support matrix, or the effective capabilities of a model',
    description: 'Without a query the support matrix of this build; with `model` and `protocol` what that route keeps.',
    parameters: [
      query('model', 'Id of the model or alias.'),
      oneOf('protocol', 'The protocol of the client.', publicProtocols),
      oneOf('api_mode', 'The contract of the native upstream.', ['v1', 'v2'])
    ],
    responses: {
      200: {
        description: 'One of the two documents.',
        content: { 'application/json': { anyOf: [reference('SupportMatrix'), reference('EffectiveCapabilities')] } }
      }
    },
    errors: { form: 'machine', statuses: [400, 404, 503] }
  }
]
