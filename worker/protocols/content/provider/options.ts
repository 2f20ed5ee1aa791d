// The endpoints of one profile: plain data, because it may cross a thread boundary.

export interface ContentCompatibleOptions {
  /** Path of the models on the profile's origin, such as `/v1beta/models`: the methods of a model are below it (bridge.md 4.4). */
  modelsPath: string
}
