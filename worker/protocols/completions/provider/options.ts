// The endpoints of one profile: plain data, because it may cross a thread boundary.

export interface ChatCompatibleOptions {
  /** Paths on the profile's origin, such as `/v1/chat/completions` (bridge.md 4.4). */
  chatPath: string
  embeddingsPath: string
  modelsPath: string
}
