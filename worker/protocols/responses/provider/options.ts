// The endpoint of one profile: plain data, because it may cross a thread boundary.

export interface ResponsesCompatibleOptions {
  /** Path on the profile's origin, such as `/v1/responses` (bridge.md 4.4). */
  responsesPath: string
  embeddingsPath: string
  modelsPath: string
}
