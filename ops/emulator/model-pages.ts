// The pages of model lists: a provider named `paged` shows one model a page, so that its clients have to follow.

/** The most models of a page, by the path of the request. */
export function findPageMax(path: string): number {
  return /^\/[a-z-]+\/paged\//.test(path) ? 1 : 1000
}
