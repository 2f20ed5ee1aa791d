// Embeddings between all client families and all providers.

/** What a client says of one text, for providers that embed it differently then. The words are the client's own. */
export interface EmbeddingPurpose {
  taskType?: string
  /** Of the document that the text is of. */
  title?: string
  /** The length of this text's vector, where the texts of a request differ in it. */
  dimensions?: number
}

export interface EmbeddingsCall {
  /** The provider's own id of the model. */
  model: string
  input: string[]
  /** The length of a vector, where the client asks for one length for all. */
  dimensions?: number
  /** In the order of the input; absent where the client says nothing of any text. */
  purposes?: readonly EmbeddingPurpose[]
}

export interface EmbeddingsResult {
  /** In the order of the input. */
  vectors: number[][]
  /** null when the provider reported none. */
  promptTokens: number | null
  /** Facts about the exchange that a client may be shown, as text. */
  metadata: Record<string, string>
}
