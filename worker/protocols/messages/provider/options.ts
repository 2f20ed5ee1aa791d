// The endpoints of one profile: plain data, because it may cross a thread boundary.

export interface MessagesCompatibleOptions {
  /** Paths on the profile's origin, such as `/v1/messages` (bridge.md 4.4). */
  messagesPath: string
  countTokensPath: string
  modelsPath: string
}
