// What a promise was rejected with, as a value that a test can look at.

/** Resolves with the reason of the rejection, and rejects when there is none. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (thrown) {
    return thrown
  }
  throw new Error('The promise was expected to be rejected.')
}
