// Embeddings between all client families and all providers.

export interface EmbeddingsCall {
  /** The provider's own id of the model. */
  model: string
  input: string[]
  /** The length of a vector, where the client asks for one. */
  dimensions?: number
}

export interface EmbeddingsResult {
  /** In the order of the input. */
  vectors: number[][]
  /** null when the provider reported none. */
  promptTokens: number | null
  /** Facts about the exchange that a client may be shown, as text. */
  metadata: Record<string, string>
}
