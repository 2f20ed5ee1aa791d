// What generations of models of this wire need or lack, by the number in their names. A name of the family without one, such as
// `gemini-flash-latest`, rolls on and is a current model (decisions.md 83). Models of other names get what all accept.

const FAMILY = /(?:^|\/)gemini-(\d*)/

/** The first generation whose calls have signatures and that takes a level of thinking and media in results. */
const SIGNED_GENERATION = 3

/** True for models that refuse a call of the history without a signature, and that take media inside the result of a call. */
export function needsSignedCalls(model: string | undefined): boolean {
  const generation = readGeneration(model)
  return generation !== undefined && generation >= SIGNED_GENERATION
}

/** True for models whose thinking is bounded by a number of tokens and that refuse a level. */
export function thinksByBudget(model: string | undefined): boolean {
  const generation = readGeneration(model)
  return generation !== undefined && generation < SIGNED_GENERATION
}

function readGeneration(model: string | undefined): number | undefined {
  const digits = model === undefined ? undefined : FAMILY.exec(model)?.[1]
  if (digits === undefined) return undefined
  return digits === '' ? SIGNED_GENERATION : Number(digits)
}
