// For tests that look closely at what is thrown.

/** What an asynchronous call throws; undefined when it does not. */
export async function catchError(call: () => PromiseLike<unknown>): Promise<unknown> {
  try {
    await call()
    return undefined
  } catch (error) {
    return error
  }
}
