// Bounds of what a scrape can grow to (operations.md 7.4).

/** Label sets of all series together. Beyond it samples are counted under the route `overflow`. */
export const LABEL_SETS_MAX = 10_000
export const OVERFLOW_ROUTE = 'overflow'
/** The label of a model that is not counted by its name. */
export const OTHER_MODEL = 'other'

/** Returns the label of a model: its name for the first `namesMax` distinct ones, `other` for all further ones. */
export function createModelBound(namesMax: number): (model: string) => string {
  const names = new Set<string>()
  return model => {
    if (names.has(model)) return model
    if (model === OTHER_MODEL || names.size >= namesMax) return OTHER_MODEL
    names.add(model)
    return model
  }
}
