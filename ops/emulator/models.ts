// The recorded model inventory of the native upstream, and the build that each model name has in a response.

export type ModelType = 'chat' | 'filter' | 'aicheck' | 'embedder'

export interface Model {
  id: string
  object: 'model'
  owned_by: string
  type: ModelType
}

const idsByType: ReadonlyArray<[ModelType, readonly string[]]> = [
  [
    'chat',
    [
      'GigaChat',
      'GigaChat-2',
      'GigaChat-2-Max',
      'GigaChat-2-Max-preview',
      'GigaChat-2-Pro',
      'GigaChat-2-Pro-preview',
      'GigaChat-2-preview',
      'GigaChat-Max',
      'GigaChat-Max-preview',
      'GigaChat-Plus',
      'GigaChat-Pro',
      'GigaChat-Pro-preview',
      'GigaChat-preview',
      'GigaChat-3-Ultra'
    ]
  ],
  ['filter', ['GigaFilter']],
  ['aicheck', ['GigaCheckClassification', 'GigaCheckDetection']],
  ['embedder', ['Embeddings', 'Embeddings-2', 'EmbeddingsGigaR', 'GigaEmbeddings-3B-2025-09']]
]

const owner = 'salutedevices'

export interface ModelInventory {
  list: () => readonly Model[]
  /** Finds the model of this id; a build suffix (`name:1.2.3`) is ignored. */
  find: (id: string) => Model | undefined
}

/** Creates the recorded inventory, followed by additional chat models. */
export function createModelInventory(extraChatModels: readonly string[]): ModelInventory {
  const models: Model[] = []
  for (const [type, ids] of idsByType) {
    for (const id of ids) models.push({ id, object: 'model', owned_by: owner, type })
  }
  for (const id of extraChatModels) models.push({ id, object: 'model', owned_by: owner, type: 'chat' })
  const byId = new Map(models.map(model => [model.id, model]))
  return {
    list: () => models,
    find: id => byId.get(id) ?? byId.get(id.split(':')[0] ?? id)
  }
}

/** Returns the model name of a chat response, which includes the build: `GigaChat:2.0.28.2`. */
export function nameBuild(id: string): string {
  if (id.includes(':')) return id
  return id.startsWith('GigaChat-3') ? `${id}:32.3.18.5` : `${id}:2.0.28.2`
}

/** Returns the vector length of an embedding model. */
export function vectorLength(id: string): number {
  switch (id.split(':')[0]) {
    case 'EmbeddingsGigaR':
      return 2560
    case 'GigaEmbeddings-3B-2025-09':
      return 2048
    default:
      return 1024
  }
}

/** True for a model that can make several calls in one response. */
export function canCallInParallel(id: string): boolean {
  return /-2-Max(?![\w])/i.test(id)
}
